/* Included before everything else when mypyc's output is compiled.

   mypyc writes CPython's trashcan into the deallocator of every native class, also of classes that the garbage
   collector does not track (acyclic=True). The trashcan stores a pending object in the header that only tracked
   objects have, so an untracked object freed fifty levels deep would overwrite the memory before it. Here the
   trashcan is left to tracked objects; nothing else forms long chains. */
#ifndef WHERRY_TRASHCAN_H
#define WHERRY_TRASHCAN_H

#include <Python.h>

#ifdef Py_TRASHCAN_BEGIN_CONDITION
#undef Py_TRASHCAN_BEGIN
#define Py_TRASHCAN_BEGIN(op, dealloc)                                       \
    Py_TRASHCAN_BEGIN_CONDITION((op), PyObject_IS_GC((PyObject *)(op)) &&    \
                                Py_TYPE(op)->tp_dealloc == (destructor)(dealloc))
#endif

#endif
