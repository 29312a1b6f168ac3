/* C counterpart of _backward.py: Passes of a watched model, and the function that replaces PyTorch's. */
#include "backward.inc"

#define MOST_ENTERED 16

static Passes *all;
static PyObject *text_note, *text_find;

static void leave_list(Passes *self) {
  if (!self->listed) return;
  self->listed = 0;
  if (self->before != NULL) self->before->behind = self->behind;
  if (self->behind != NULL) self->behind->before = self->before;
  if (all == self) all = self->behind;
  self->before = self->behind = NULL;
}

static int passes_init(Passes *self, PyObject *arguments, PyObject *named) {
  PyObject *begin, *end, *nodes;
  (void)named;
  if (!PyArg_ParseTuple(arguments, "OOO", &begin, &end, &nodes)) return -1;
  if (self->begin != NULL) {
    PyErr_SetString(PyExc_RuntimeError, "already initialized");
    return -1;
  }
  self->begin = (Py_INCREF(begin), begin);
  self->end = (Py_INCREF(end), end);
  self->nodes = (Py_INCREF(nodes), nodes);
  self->behind = all;
  if (all != NULL) all->before = self;
  all = self;
  self->listed = 1;
  return 0;
}

static int passes_traverse(Passes *self, visitproc visit, void *arg) {
  Py_VISIT(self->begin);
  Py_VISIT(self->end);
  Py_VISIT(self->nodes);
  return 0;
}

static int passes_clear(Passes *self) {
  leave_list(self);
  Py_CLEAR(self->begin);
  Py_CLEAR(self->end);
  Py_CLEAR(self->nodes);
  return 0;
}

static void passes_dealloc(Passes *self) {
  PyObject_GC_UnTrack(self);
  passes_clear(self);
  for (int place = 0; place < AWAITED; ++place) Py_XDECREF(self->tensors[place]);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

PyObject *passes_note(Passes *self, PyObject *tensor) {
  self->waits = 1;
  if (self->state != BY_NODE) {
    PyObject *reference = PyWeakref_NewRef(tensor, NULL), *before = self->tensors[self->place];
    if (reference == NULL) return NULL;
    self->tensors[self->place] = reference;
    self->place = (self->place + 1) % AWAITED;
    Py_XDECREF(before);
  }
  if (self->state != BY_TENSOR && self->nodes != NULL) {
    PyObject *done = PyObject_CallMethodObjArgs(self->nodes, text_note, tensor, NULL);
    if (done == NULL) return NULL;
    Py_DECREF(done);
  }
  Py_RETURN_NONE;
}

static PyObject *passes_prove(Passes *self, PyObject *given) {
  long state = PyLong_AsLong(given);
  if (state == -1 && PyErr_Occurred()) return NULL;
  if (self->inside && !self->state) {
    self->state = state ? (int)state : self->inside;
    self->seen = 1;
  }
  Py_RETURN_NONE;
}

static PyObject *passes_missed(Passes *self, PyObject *unused) {
  int missed = self->waits && !self->seen;
  (void)unused;
  self->waits = self->seen = 0;
  return PyBool_FromLong(missed);
}

static PyObject *passes_close(Passes *self, PyObject *unused) {
  (void)unused;
  leave_list(self);
  Py_RETURN_NONE;
}

static Passes *passes_in(PyObject *passes) {
  return passes != NULL && Py_TYPE(passes) == &PassesType ? (Passes *)passes : NULL;
}

int passes_are_known(PyObject *passes) { return passes_in(passes) != NULL && passes_in(passes)->state != PROVING; }

int passes_would_miss(PyObject *passes) {
  const Passes *self = passes_in(passes);
  return self != NULL && self->waits && !self->seen;
}

void passes_forget(PyObject *passes) {
  Passes *self = passes_in(passes);
  if (self != NULL) self->waits = self->seen = 0;
}

/* Returns whether the weak reference refers to this object. */
static int refers_to(PyObject *reference, PyObject *object) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject *found = NULL;
  int there = PyWeakref_GetRef(reference, &found) > 0 && found == object;
  Py_XDECREF(found);
  return there;
#else
  return PyWeakref_GET_OBJECT(reference) == object;
#endif
}

/* Returns the recognition method of a pass that starts at these roots, or -1 with an exception set. */
static int find(Passes *self, PyObject *roots) {
  for (Py_ssize_t root = 0; self->state != BY_NODE && root < PyTuple_GET_SIZE(roots); ++root)
    for (int place = 0; place < AWAITED; ++place)
      if (self->tensors[place] != NULL && refers_to(self->tensors[place], PyTuple_GET_ITEM(roots, root))) return BY_TENSOR;
  if (self->state == BY_TENSOR || self->nodes == NULL) return PROVING;
  PyObject *found = PyObject_CallMethodObjArgs(self->nodes, text_find, roots, NULL);
  int is_there = found == NULL ? -1 : PyObject_IsTrue(found);
  Py_XDECREF(found);
  return is_there > 0 ? BY_NODE : is_there;
}

static PyMethodDef passes_methods[] = {{"note", (PyCFunction)passes_note, METH_O, NULL},
                                       {"prove", (PyCFunction)passes_prove, METH_O, NULL},
                                       {"missed", (PyCFunction)passes_missed, METH_NOARGS, NULL},
                                       {"close", (PyCFunction)passes_close, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

static PyMemberDef passes_members[] = {{"state", T_INT, offsetof(Passes, state), 0, NULL},
                                       {"inside", T_INT, offsetof(Passes, inside), READONLY, NULL},
                                       {NULL, 0, 0, 0, NULL}};

PyTypeObject PassesType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.Passes",
    .tp_basicsize = sizeof(Passes),
    .tp_dealloc = (destructor)passes_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)passes_traverse,
    .tp_clear = (inquiry)passes_clear,
    .tp_methods = passes_methods,
    .tp_members = passes_members,
    .tp_init = (initproc)passes_init,
    .tp_new = PyType_GenericNew,
};

/* Replacement of the original function. Its own dictionary contains the original's name, docstring, and __wrapped__. */
typedef struct {
  PyObject_HEAD
  PyObject *original, *dictionary;
} Run;

static int run_init(Run *self, PyObject *arguments, PyObject *named) {
  PyObject *original;
  (void)named;
  if (!PyArg_ParseTuple(arguments, "O", &original)) return -1;
  if (self->original != NULL) {
    PyErr_SetString(PyExc_RuntimeError, "already initialized");
    return -1;
  }
  self->original = (Py_INCREF(original), original);
  return 0;
}

/* Calls our own function. Returns -1 with an exception set if training is interrupted; other errors do not affect training. */
static int call(PyObject *function) {
  PyObject *done;
  if (function == NULL) return 0; /* it was cleared in the meantime */
  Py_INCREF(function);
  done = PyObject_CallObject(function, NULL);
  Py_DECREF(function);
  Py_XDECREF(done);
  if (done != NULL) return 0;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
  PyErr_Clear();
  return 0;
}

static PyObject *run_call(Run *self, PyObject *arguments, PyObject *named) {
  if (self->original == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "not initialized");
    return NULL;
  }
  PyObject *roots = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : NULL;
  if (all == NULL || roots == NULL || !PyTuple_Check(roots)) return PyObject_Call(self->original, arguments, named);
  Passes *entered[MOST_ENTERED];
  char known[MOST_ENTERED];
  int count = 0, failed = 0;
  for (Passes *passes = all, *next; passes != NULL && count < MOST_ENTERED && !failed; passes = next) {
    Py_INCREF(passes); /* Python code runs in between */
    int found = passes->inside ? PROVING : find(passes, roots);
    if (found > 0 && !passes->inside) {
      passes->inside = found;
      known[count] = passes->state != PROVING;
      passes->seen = passes->seen || known[count];
      entered[count] = (Passes *)(Py_INCREF(passes), passes);
      if (known[count++]) failed = call(passes->begin) < 0;
    }
    failed = failed || found < 0;
    next = passes->behind; /* NULL if `passes` was closed in the meantime */
    Py_DECREF(passes);
  }
  PyObject *result = failed ? NULL : PyObject_Call(self->original, arguments, named);
  for (int place = 0; place < count; ++place) {
    if (result != NULL && known[place] && call(entered[place]->end) < 0) Py_CLEAR(result);
    entered[place]->inside = PROVING;
    Py_DECREF(entered[place]);
  }
  return result;
}

static int run_traverse(Run *self, visitproc visit, void *arg) {
  Py_VISIT(self->original);
  Py_VISIT(self->dictionary);
  return 0;
}

static int run_clear(Run *self) {
  Py_CLEAR(self->dictionary);
  return 0;
}

static void run_dealloc(Run *self) {
  PyObject_GC_UnTrack(self);
  Py_CLEAR(self->dictionary);
  Py_CLEAR(self->original);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Pickled by name, like a Python function. */
static PyObject *run_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef run_methods[] = {{"__reduce__", run_reduce, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyGetSetDef run_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject RunType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.Run",
    .tp_basicsize = sizeof(Run),
    .tp_dealloc = (destructor)run_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_dictoffset = offsetof(Run, dictionary),
    .tp_call = (ternaryfunc)run_call,
    .tp_traverse = (traverseproc)run_traverse,
    .tp_clear = (inquiry)run_clear,
    .tp_getset = run_getset,
    .tp_methods = run_methods,
    .tp_init = (initproc)run_init,
    .tp_new = PyType_GenericNew,
};

int prepare_backward(void) {
  text_note = PyUnicode_InternFromString("note");
  text_find = PyUnicode_InternFromString("find");
  return text_note == NULL || text_find == NULL ? -1 : 0;
}
