/* Items, modes, steps, and threads. The corresponding objects in _core.py are tuples and classes. */
#include "items.inc"

PyObject *text_train, *text_step, *text_dataloader, *text_empty, *empty_tuple;

Item *make_item(int kind, PyObject *name, long long start, long long end, long long step_plus_one, PyObject *mode,
                       double number, PyObject *labels) {
  Item *item = PyObject_New(Item, &ItemType);
  if (item == NULL) return NULL;
  item->kind = kind;
  item->start = start;
  item->end = end;
  item->step_plus_one = step_plus_one;
  item->number = number;
  Py_INCREF(name);
  Py_INCREF(mode);
  Py_INCREF(labels);
  item->name = name;
  item->mode = mode;
  item->labels = labels;
  return item;
}

static void item_dealloc(Item *self) {
  Py_DECREF(self->name);
  Py_DECREF(self->mode);
  Py_DECREF(self->labels);
  PyObject_Free(self);
}

static PyObject *item_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
  int kind;
  long long start, end, step_plus_one;
  PyObject *name, *mode, *number, *labels;
  (void)type;
  (void)named;
  if (!PyArg_ParseTuple(arguments, "iULLLUOO!", &kind, &name, &start, &end, &step_plus_one, &mode, &number, &PyTuple_Type, &labels))
    return NULL;
  double value = number == Py_None ? 0.0 : PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred()) return NULL;
  return (PyObject *)make_item(kind, name, start, end, step_plus_one, mode, value, labels);
}

static PyObject *item_number(Item *self, void *unused) {
  (void)unused;
  if (self->kind != 0) Py_RETURN_NONE;
  return PyFloat_FromDouble(self->number);
}

static PyMemberDef item_members[] = {
    {"kind", T_INT, offsetof(Item, kind), READONLY, NULL},
    {"name", T_OBJECT, offsetof(Item, name), READONLY, NULL},
    {"start", T_LONGLONG, offsetof(Item, start), READONLY, NULL},
    {"end", T_LONGLONG, offsetof(Item, end), READONLY, NULL},
    {"step_plus_one", T_LONGLONG, offsetof(Item, step_plus_one), READONLY, NULL},
    {"mode", T_OBJECT, offsetof(Item, mode), READONLY, NULL},
    {"labels", T_OBJECT, offsetof(Item, labels), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef item_getset[] = {{"number", (getter)item_number, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject ItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.Item",
    .tp_basicsize = sizeof(Item),
    .tp_dealloc = (destructor)item_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_members = item_members,
    .tp_getset = item_getset,
    .tp_new = item_new,
};

/* Modes and steps. */
static void mode_dealloc(Mode *self) {
  Py_XDECREF(self->open);
  Py_DECREF(self->name);
  PyObject_Free(self);
}

static void step_dealloc(Step *self) {
  Py_DECREF(self->mode);
  PyObject_Free(self);
}

PyTypeObject ModeType = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.Mode",
                                .tp_basicsize = sizeof(Mode),
                                .tp_dealloc = (destructor)mode_dealloc,
                                .tp_flags = Py_TPFLAGS_DEFAULT};

PyTypeObject StepType = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.Step",
                                .tp_basicsize = sizeof(Step),
                                .tp_dealloc = (destructor)step_dealloc,
                                .tp_flags = Py_TPFLAGS_DEFAULT};

void close_step(Mode *mode) {
  Step *open = mode->open;
  mode->open = NULL;
  Py_XDECREF(open);
}

/* Threads. */
static void thread_dealloc(Thread *self) {
  Py_XDECREF(self->phases);
  Py_XDECREF(self->mode);
  PyObject_Free(self);
}

static PyMemberDef thread_members[] = {{"phases", T_OBJECT, offsetof(Thread, phases), READONLY, NULL},
                                       {"mode", T_OBJECT, offsetof(Thread, mode), READONLY, NULL},
                                       {NULL, 0, 0, 0, NULL}};

PyTypeObject ThreadType = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.Thread",
                                  .tp_basicsize = sizeof(Thread),
                                  .tp_dealloc = (destructor)thread_dealloc,
                                  .tp_flags = Py_TPFLAGS_DEFAULT,
                                  .tp_members = thread_members};
