/* C implementation of the recorder's Core; see _core.Core for the meaning of each method. */
#include <time.h>

#include "core.inc"

static unsigned long long next_serial = 1;

int core_now_ns(Core *self, long long *now) {
  if (self->now == NULL) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    *now = (long long)time.tv_sec * 1000000000LL + time.tv_nsec;
    return 0;
  }
  PyObject *value = PyObject_CallObject(self->now, NULL);
  if (value == NULL) return -1;
  *now = PyLong_AsLongLong(value);
  Py_DECREF(value);
  return *now == -1 && PyErr_Occurred() ? -1 : 0;
}

Thread *core_thread_of(Core *self) {
  PyObject *all = PyThreadState_GetDict();
  if (all == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "no thread state");
    return NULL;
  }
  Thread *thread = (Thread *)PyDict_GetItemWithError(all, self->serial);
  if (thread != NULL || PyErr_Occurred()) return thread;
  thread = PyObject_New(Thread, &ThreadType);
  if (thread == NULL) return NULL;
  Py_INCREF(text_train);
  thread->mode = text_train;
  thread->phases = PyList_New(0);
  if (thread->phases == NULL || PyDict_SetItem(all, self->serial, (PyObject *)thread) < 0) {
    Py_DECREF(thread);
    return NULL;
  }
  Py_DECREF(thread); /* the dictionary owns a reference */
  return thread;
}

int core_same_text(PyObject *one, PyObject *other) {
  return one == other || (PyUnicode_Check(one) && PyUnicode_Check(other) && PyUnicode_Compare(one, other) == 0);
}

Mode *core_find_mode(Core *self, PyObject *name) {
  for (int place = 0; place < self->mode_count; ++place)
    if (core_same_text(self->modes[place]->name, name)) return self->modes[place];
  return NULL;
}

Mode *core_make_mode(Core *self, PyObject *name) {
  Mode *mode = core_find_mode(self, name);
  if (mode != NULL || self->mode_count == MAX_MODES) return mode;
  mode = PyObject_New(Mode, &ModeType);
  if (mode == NULL) return NULL;
  Py_INCREF(name);
  mode->name = name;
  mode->current = -1;
  mode->next = mode->floor = 0;
  mode->open = NULL;
  self->modes[self->mode_count++] = mode;
  return mode;
}

long long core_below(Core *self, Mode *mode) {
  if (self->finished) return mode->current + 1;
  if (self->lag == 0) return mode->current > 0 ? mode->current : 0;
  long long low = mode->current - self->lag > mode->floor ? mode->current - self->lag : mode->floor;
  if (low > mode->current) low = mode->current;
  return low > 0 ? low : 0;
}

int core_put(Core *self, int kind, PyObject *name, long long start, long long end, long long step_plus_one, PyObject *mode,
               double number, PyObject *labels) {
  if (self->finished) return 0;
  if (PyList_GET_SIZE(self->queue) + self->backlog >= self->capacity) {
    ++self->dropped;
    return 0;
  }
  Item *item = make_item(kind, name, start, end, step_plus_one, mode, number, labels);
  if (item == NULL) return -1;
  int failed = PyList_Append(self->queue, (PyObject *)item);
  Py_DECREF(item);
  return failed;
}

static void set_object(PyObject **place, PyObject *value) {
  PyObject *before = *place;
  Py_INCREF(value);
  *place = value;
  Py_XDECREF(before);
}

/* Calls the watcher's before_step(mode, number) or after_step(mode, number), which is Python code. */
static int call_watcher(Core *self, const char *method, PyObject *mode, PyObject *number) {
  PyObject *watcher = self->step_watcher;
  if (watcher == Py_None) return 0;
  Py_INCREF(watcher);
  PyObject *done = PyObject_CallMethod(watcher, method, "OO", mode, number);
  Py_DECREF(watcher);
  if (done == NULL) return -1;
  Py_DECREF(done);
  return 0;
}

static int tell_step_over(Core *self, PyObject *mode, long long number, int done) {
  if (self->step_watcher == Py_None) return 0;
  PyObject *argument = done ? PyLong_FromLongLong(number) : (Py_INCREF(Py_None), Py_None);
  if (argument == NULL) return -1;
  int failed = call_watcher(self, "after_step", mode, argument);
  Py_DECREF(argument);
  return failed;
}

/* Calls begin_step(mode) of collective_times, or end_step(mode, number) if number is not negative. Both are Python code. */
static int call_times(Core *self, PyObject *mode, long long number) {
  PyObject *times = self->collective_times;
  if (times == Py_None) return 0;
  Py_INCREF(times);
  PyObject *done = number < 0 ? PyObject_CallMethod(times, "begin_step", "O", mode)
                              : PyObject_CallMethod(times, "end_step", "OL", mode, number);
  Py_DECREF(times);
  if (done == NULL) return -1;
  Py_DECREF(done);
  return 0;
}

PyObject *core_begin_step(Core *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"number", "fetching", NULL};
  PyObject *number = Py_None;
  int fetching = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "|Op", names, &number, &fetching)) return NULL;
  Thread *thread = core_thread_of(self);
  if (thread == NULL || call_watcher(self, "before_step", thread->mode, number) < 0) return NULL;
  long long given = -1;
  if (number != Py_None) {
    given = PyLong_AsLongLong(number);
    if (given == -1 && PyErr_Occurred()) return NULL;
    if (given < 0) given = 0;
  }
  Mode *mode = core_make_mode(self, thread->mode);
  if (mode == NULL) {
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
  }
  set_object(&self->training_phases, thread->phases);
  if (given >= 0) mode->next = given;
  Step *step = PyObject_New(Step, &StepType);
  if (step == NULL) return NULL;
  Py_INCREF(mode);
  step->mode = mode;
  step->number = mode->next;
  step->worked = 0;
  step->start = 0;
  if (core_now_ns(self, &step->start) < 0) {
    Py_DECREF(step);
    return NULL;
  }
  close_step(mode);
  Py_INCREF(step);
  mode->open = step;
  if (!fetching) mode->current = mode->next;
  if (call_times(self, mode->name, -1) < 0) {
    Py_DECREF(step);
    return NULL;
  }
  return (PyObject *)step;
}

static Step *step_argument(PyObject *begun) {
  if (Py_TYPE(begun) == &StepType) return (Step *)begun;
  PyErr_SetString(PyExc_TypeError, "expected a result of begin_step()");
  return NULL;
}

static PyObject *core_confirm_step(Core *self, PyObject *begun) {
  Step *step = step_argument(begun);
  (void)self;
  if (step == NULL) return NULL;
  if (step->mode->open == step) step->mode->current = step->number;
  Py_RETURN_NONE;
}

static int end_step(Core *self, Step *step) {
  Mode *mode = step->mode;
  long long now;
  if (mode->open == step && call_times(self, mode->name, step->number) < 0) return -1; /* must precede the promise that the step is complete */
  if (mode->open != step) return 0; /* another step of this mode has started inside this step */
  if (core_now_ns(self, &now) < 0) return -1;
  close_step(mode);
  mode->current = step->number;
  mode->next = step->number + 1;
  if (core_put(self, KIND_STEP, text_step, step->start, now, step->number + 1, mode->name, 0, empty_tuple) < 0) return -1;
  return tell_step_over(self, mode->name, step->number, 1);
}

PyObject *core_end_step(Core *self, PyObject *begun) {
  Step *step = step_argument(begun);
  if (step == NULL || end_step(self, step) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *core_drop_step(Core *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"begun", "keep_if_worked", NULL};
  PyObject *begun;
  int keep = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "O|p", names, &begun, &keep)) return NULL;
  Step *step = step_argument(begun);
  if (step == NULL) return NULL;
  if (keep && step->worked) return end_step(self, step) < 0 ? NULL : (Py_INCREF(Py_None), Py_None);
  Mode *mode = step->mode;
  if (mode->open == step) {
    close_step(mode);
    mode->next = step->number + (step->worked ? 1 : 0);
  }
  if (tell_step_over(self, mode->name, 0, 0) < 0) return NULL;
  Py_RETURN_NONE;
}

PyObject *core_number_of(Mode *mode, int open_only) {
  if (mode == NULL) Py_RETURN_NONE;
  if (mode->open != NULL) return PyLong_FromLongLong(mode->open->number);
  if (open_only || mode->current < 0) Py_RETURN_NONE;
  return PyLong_FromLongLong(mode->current);
}

static PyObject *core_step_number(Core *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"mode", "open_only", NULL};
  PyObject *name;
  int open_only = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "O|p", names, &name, &open_only)) return NULL;
  return core_number_of(core_find_mode(self, name), open_only);
}

static PyObject *core_next_step(Core *self, PyObject *name) {
  Mode *mode = core_find_mode(self, name);
  return PyLong_FromLongLong(mode != NULL ? mode->next : 0);
}

static PyObject *core_restart_steps(Core *self, PyObject *unused) {
  (void)unused;
  for (int place = 0; place < self->mode_count; ++place) self->modes[place]->next = 0;
  Py_RETURN_NONE;
}

static PyObject *core_allow_late(Core *self, PyObject *steps) {
  long long lag = PyLong_AsLongLong(steps);
  if (lag == -1 && PyErr_Occurred()) return NULL;
  if (lag > self->lag) {
    for (int place = 0; place < self->mode_count; ++place) self->modes[place]->floor = core_below(self, self->modes[place]);
    self->lag = lag;
  }
  Py_RETURN_NONE;
}

/* Modes, and functions that the sender calls. */

static PyObject *core_mode(Core *self, PyObject *unused) {
  Thread *thread = core_thread_of(self);
  (void)unused;
  if (thread == NULL) return NULL;
  Py_INCREF(thread->mode);
  return thread->mode;
}

static PyObject *core_set_mode(Core *self, PyObject *name) {
  Thread *thread = core_thread_of(self);
  if (thread == NULL) return NULL;
  if (!PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "mode must be a string");
    return NULL;
  }
  PyObject *before = thread->mode; /* now owned by the caller */
  Py_INCREF(name);
  thread->mode = name;
  return before;
}

static PyObject *core_now(Core *self, PyObject *unused) {
  long long now;
  (void)unused;
  return core_now_ns(self, &now) < 0 ? NULL : PyLong_FromLongLong(now);
}

static PyObject *core_running(Core *self, PyObject *unused) {
  PyObject *phases = self->training_phases;
  (void)unused;
  Py_ssize_t depth = PyList_GET_SIZE(phases);
  if (depth > 0) {
    PyObject *phase = PyList_GET_ITEM(phases, depth - 1);
    PyObject *begun = PyTuple_GET_ITEM(phase, 3);
    long long plus_one = Py_TYPE(begun) == &StepType ? ((Step *)begun)->number + 1 : 0;
    return Py_BuildValue("(OOLO)", PyTuple_GET_ITEM(phase, 0), PyTuple_GET_ITEM(phase, 1), plus_one, PyTuple_GET_ITEM(phase, 2));
  }
  for (int place = self->mode_count - 1; place >= 0; --place) { /* between two phases, the step is still reported */
    Mode *mode = self->modes[place];
    if (mode->open != NULL) return Py_BuildValue("(OiLO)", text_empty, 0, mode->open->number + 1, mode->name);
  }
  return Py_BuildValue("(OiiO)", text_empty, 0, 0, text_empty);
}

static PyObject *core_drain(Core *self, PyObject *unused) {
  long long now;
  PyObject *fresh = PyList_New(0), *steps = PyDict_New(), *running = NULL;
  if (fresh == NULL || steps == NULL || core_now_ns(self, &now) < 0) goto failed;
  for (int place = 0; place < self->mode_count; ++place) {
    if (self->modes[place]->current < 0) continue;
    PyObject *number = PyLong_FromLongLong(core_below(self, self->modes[place]));
    if (number == NULL || PyDict_SetItem(steps, self->modes[place]->name, number) < 0) {
      Py_XDECREF(number);
      goto failed;
    }
    Py_DECREF(number);
  }
  running = core_running(self, unused);
  if (running == NULL) goto failed;
  PyObject *items = self->queue;
  self->queue = fresh;
  self->backlog += PyList_GET_SIZE(items);
  return Py_BuildValue("(NLNLN)", items, now, steps, self->dropped, running);
failed:
  Py_XDECREF(fresh);
  Py_XDECREF(steps);
  return NULL;
}

static PyObject *core_hold(Core *self, PyObject *count) {
  Py_ssize_t more = PyLong_AsSsize_t(count);
  if (more == -1 && PyErr_Occurred()) return NULL;
  self->backlog += more;
  Py_RETURN_NONE;
}

static PyObject *core_release(Core *self, PyObject *count) {
  Py_ssize_t less = PyLong_AsSsize_t(count);
  if (less == -1 && PyErr_Occurred()) return NULL;
  self->backlog -= less;
  Py_RETURN_NONE;
}

static PyObject *core_pending(Core *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromSsize_t(PyList_GET_SIZE(self->queue));
}

static PyObject *core_abandon(Core *self, PyObject *unused) {
  (void)unused;
  self->finished = 1;
  Py_RETURN_NONE;
}

static int core_init(Core *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"capacity", "step_lag", "now", NULL};
  PyObject *now = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "n|LO", names, &self->capacity, &self->lag, &now)) return -1;
  if (self->serial != NULL) {
    PyErr_SetString(PyExc_RuntimeError, "already initialized");
    return -1;
  }
  self->queue = PyList_New(0);
  self->serial = PyUnicode_FromFormat("pitwall core %llu", next_serial++);
  self->step_watcher = (Py_INCREF(Py_None), Py_None);
  self->collective_times = (Py_INCREF(Py_None), Py_None);
  if (now != Py_None) self->now = (Py_INCREF(now), now);
  if (self->queue == NULL || self->serial == NULL) return -1;
  Thread *thread = core_thread_of(self);
  if (thread == NULL) return -1;
  set_object(&self->training_phases, thread->phases); /* until a step starts */
  return 0;
}

static int core_traverse(Core *self, visitproc visit, void *arg) {
  Py_VISIT(self->now);
  Py_VISIT(self->queue);
  Py_VISIT(self->training_phases);
  Py_VISIT(self->step_watcher);
  Py_VISIT(self->collective_times);
  return 0;
}

static int core_clear(Core *self) {
  Py_CLEAR(self->now);
  return 0;
}

static void core_dealloc(Core *self) {
  PyObject_GC_UnTrack(self);
  for (int place = 0; place < self->mode_count; ++place) {
    close_step(self->modes[place]);
    Py_DECREF(self->modes[place]);
  }
  Py_XDECREF(self->now);
  Py_XDECREF(self->queue);
  Py_XDECREF(self->serial);
  Py_XDECREF(self->training_phases);
  Py_XDECREF(self->step_watcher);
  Py_XDECREF(self->collective_times);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *core_thread(Core *self, void *unused) {
  Thread *thread = core_thread_of(self);
  (void)unused;
  Py_XINCREF(thread);
  return (PyObject *)thread;
}

#define METHOD(name, flags) {#name, (PyCFunction)(void (*)(void))core_##name, flags, NULL}

static PyMethodDef core_methods[] = {
    METHOD(begin_step, METH_VARARGS | METH_KEYWORDS),
    METHOD(confirm_step, METH_O),
    METHOD(end_step, METH_O),
    METHOD(drop_step, METH_VARARGS | METH_KEYWORDS),
    METHOD(step_number, METH_VARARGS | METH_KEYWORDS),
    METHOD(next_step, METH_O),
    METHOD(restart_steps, METH_NOARGS),
    METHOD(allow_late, METH_O),
    METHOD(thread_phases, METH_NOARGS),
    METHOD(in_phase, METH_O),
    METHOD(begin_phase, METH_VARARGS | METH_KEYWORDS),
    METHOD(end_phase, METH_VARARGS | METH_KEYWORDS),
    METHOD(here, METH_FASTCALL),
    METHOD(begin_once, METH_FASTCALL),
    METHOD(end_running, METH_FASTCALL | METH_STATIC),
    METHOD(log, METH_VARARGS | METH_KEYWORDS),
    METHOD(record, METH_VARARGS),
    METHOD(mode, METH_NOARGS),
    METHOD(set_mode, METH_O),
    METHOD(now, METH_NOARGS),
    METHOD(running, METH_NOARGS),
    METHOD(drain, METH_NOARGS),
    METHOD(hold, METH_O),
    METHOD(release, METH_O),
    METHOD(pending, METH_NOARGS),
    METHOD(abandon, METH_NOARGS),
    {NULL, NULL, 0, NULL}};

static PyMemberDef core_members[] = {{"finished", T_BOOL, offsetof(Core, finished), 0, NULL},
                                     {"step_watcher", T_OBJECT, offsetof(Core, step_watcher), 0, NULL},
                                     {"collective_times", T_OBJECT, offsetof(Core, collective_times), 0, NULL},
                                     {NULL, 0, 0, 0, NULL}};

static PyGetSetDef core_getset[] = {{"_thread", (getter)core_thread, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject CoreType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.Core",
    .tp_basicsize = sizeof(Core),
    .tp_dealloc = (destructor)core_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)core_traverse,
    .tp_clear = (inquiry)core_clear,
    .tp_methods = core_methods,
    .tp_members = core_members,
    .tp_getset = core_getset,
    .tp_init = (initproc)core_init,
    .tp_new = PyType_GenericNew,
};
