"""Mistakes that users of eager engines met, each as the shortest program that shows it."""
