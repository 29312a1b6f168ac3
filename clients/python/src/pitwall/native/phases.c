/* The recorder's phases and values; see _core.Core for the meaning of each method. */
#include "core.inc"

/* Phases, which are tuples (name, start, mode, step or None). */

PyObject *core_thread_phases(Core *self, PyObject *unused) {
  Thread *thread = core_thread_of(self);
  (void)unused;
  if (thread == NULL) return NULL;
  Py_INCREF(thread->phases);
  return thread->phases;
}

PyObject *core_in_phase(Core *self, PyObject *name) {
  Thread *thread = core_thread_of(self);
  if (thread == NULL) return NULL;
  for (Py_ssize_t place = 0; place < PyList_GET_SIZE(thread->phases); ++place)
    if (core_same_text(PyTuple_GET_ITEM(PyList_GET_ITEM(thread->phases, place), 0), name)) Py_RETURN_TRUE;
  Py_RETURN_FALSE;
}

static PyObject *begin_phase(Core *self, PyObject *name, PyObject *phases, PyObject *mode) {
  Mode *known = core_find_mode(self, mode);
  PyObject *step = known != NULL && known->open != NULL ? (PyObject *)known->open : Py_None;
  long long now;
  Py_INCREF(step);
  if (core_now_ns(self, &now) < 0) {
    Py_DECREF(step);
    return NULL;
  }
  PyObject *start = PyLong_FromLongLong(now);
  PyObject *phase = start == NULL ? NULL : PyTuple_Pack(4, name, start, mode, step);
  Py_XDECREF(start);
  Py_DECREF(step);
  if (phase != NULL && PyList_GET_SIZE(phases) < MAX_DEPTH && PyList_Append(phases, phase) < 0) Py_CLEAR(phase);
  return phase;
}

PyObject *core_begin_phase(Core *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"name", "phases", "mode", NULL};
  PyObject *name, *phases = Py_None, *mode = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "U|OO", names, &name, &phases, &mode)) return NULL;
  Thread *thread = core_thread_of(self);
  if (thread == NULL) return NULL;
  return begin_phase(self, name, PyList_Check(phases) ? phases : thread->phases, mode != Py_None ? mode : thread->mode);
}

static PyObject *end_phase(Core *self, PyObject *phase, int record, PyObject *phases) {
  if (PyTuple_GET_SIZE(phase) != 4) {
    PyErr_SetString(PyExc_TypeError, "expected a result of begin_phase()");
    return NULL;
  }
  for (Py_ssize_t place = PyList_GET_SIZE(phases) - 1; place >= 0; --place) {
    if (PyList_GET_ITEM(phases, place) == phase) { /* also ends inner phases that are still open */
      if (PyList_SetSlice(phases, place, PyList_GET_SIZE(phases), NULL) < 0) return NULL;
      break;
    }
  }
  if (!record) return PyLong_FromLong(0);
  PyObject *name = PyTuple_GET_ITEM(phase, 0), *mode = PyTuple_GET_ITEM(phase, 2), *begun = PyTuple_GET_ITEM(phase, 3);
  long long start = PyLong_AsLongLong(PyTuple_GET_ITEM(phase, 1)), end, plus_one = 0;
  if (start == -1 && PyErr_Occurred()) return NULL;
  if (Py_TYPE(begun) == &StepType) {
    Step *step = (Step *)begun;
    if (!core_same_text(name, text_dataloader)) step->worked = 1;
    if (step->number >= core_below(self, step->mode)) plus_one = step->number + 1; /* otherwise the step is already promised to be complete */
  }
  if (core_now_ns(self, &end) < 0 || core_put(self, KIND_PHASE, name, start, end, plus_one, mode, 0, empty_tuple) < 0) return NULL;
  return PyLong_FromLongLong(end - start);
}

PyObject *core_end_phase(Core *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"phase", "record", "phases", NULL};
  PyObject *phase, *phases = Py_None;
  int record = 1;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!|pO", names, &PyTuple_Type, &phase, &record, &phases)) return NULL;
  if (!PyList_Check(phases)) {
    Thread *thread = core_thread_of(self);
    if (thread == NULL) return NULL;
    phases = thread->phases;
  }
  return end_phase(self, phase, record, phases);
}

/* Functions that the hooks of watch() call on each step. */

PyObject *core_here(Core *self, PyObject *const *arguments, Py_ssize_t count) {
  Thread *thread = core_thread_of(self);
  int open_only = count > 0 ? PyObject_IsTrue(arguments[0]) : 0;
  if (thread == NULL || open_only < 0) return NULL;
  PyObject *number = core_number_of(core_find_mode(self, thread->mode), open_only);
  PyObject *place = number == NULL ? NULL : PyTuple_Pack(3, thread->phases, thread->mode, number);
  Py_XDECREF(number);
  return place;
}

PyObject *core_begin_once(Core *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 4 || !PyDict_Check(arguments[0]) || !PyUnicode_Check(arguments[1]) || !PyList_Check(arguments[2])) {
    PyErr_SetString(PyExc_TypeError, "begin_once() requires (running, name, phases, mode)");
    return NULL;
  }
  PyObject *running = arguments[0], *name = arguments[1], *phases = arguments[2];
  int there = PyDict_Contains(running, name);
  for (Py_ssize_t place = 0; there == 0 && place < PyList_GET_SIZE(phases); ++place)
    there = core_same_text(PyTuple_GET_ITEM(PyList_GET_ITEM(phases, place), 0), name);
  if (there < 0) return NULL;
  if (there) Py_RETURN_NONE;
  PyObject *phase = begin_phase(self, name, phases, arguments[3]);
  PyObject *known = phase == NULL ? NULL : PyTuple_Pack(3, self, phase, phases);
  Py_XDECREF(phase);
  if (known == NULL) return NULL;
  int failed = PyDict_SetItem(running, name, known);
  Py_DECREF(known);
  if (failed) return NULL;
  Py_RETURN_NONE;
}

PyObject *core_end_running(PyObject *unused, PyObject *const *arguments, Py_ssize_t count) {
  (void)unused;
  if (count < 2 || count > 3 || !PyDict_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "end_running() requires (running, name, record=True)");
    return NULL;
  }
  int record = count > 2 ? PyObject_IsTrue(arguments[2]) : 1;
  PyObject *known = PyDict_GetItemWithError(arguments[0], arguments[1]);
  if (record < 0 || (known == NULL && PyErr_Occurred())) return NULL;
  if (known == NULL) Py_RETURN_NONE;
  if (!PyTuple_Check(known) || PyTuple_GET_SIZE(known) != 3 || !PyObject_TypeCheck(PyTuple_GET_ITEM(known, 0), &CoreType) ||
      !PyTuple_Check(PyTuple_GET_ITEM(known, 1)) || !PyList_Check(PyTuple_GET_ITEM(known, 2))) {
    PyErr_SetString(PyExc_TypeError, "expected an entry of begin_once()");
    return NULL;
  }
  Py_INCREF(known);
  PyObject *took = PyDict_DelItem(arguments[0], arguments[1]) < 0
                       ? NULL
                       : end_phase((Core *)PyTuple_GET_ITEM(known, 0), PyTuple_GET_ITEM(known, 1), record, PyTuple_GET_ITEM(known, 2));
  Py_DECREF(known);
  if (took == NULL) return NULL;
  Py_DECREF(took);
  Py_RETURN_NONE;
}

/* Values. */

static PyObject *pair_at(PyObject *list, Py_ssize_t place) {
  PyObject *pair = PyList_GET_ITEM(list, place);
  if (PyTuple_Check(pair)) return pair;
  PyErr_SetString(PyExc_TypeError, "a value must be a tuple");
  return NULL;
}

PyObject *core_log(Core *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"pairs", "labels", "number", NULL};
  PyObject *pairs, *labels, *given = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!O!|O", names, &PyList_Type, &pairs, &PyTuple_Type, &labels, &given))
    return NULL;
  Thread *thread = core_thread_of(self);
  if (thread == NULL) return NULL;
  long long number = 0, plus_one = 0, now;
  if (given != Py_None) {
    number = PyLong_AsLongLong(given);
    if (number == -1 && PyErr_Occurred()) return NULL;
  }
  Mode *mode = given != Py_None ? core_make_mode(self, thread->mode) : core_find_mode(self, thread->mode);
  if (mode != NULL) {
    if (given == Py_None) {
      number = mode->current;
    } else if (number > mode->current) { /* the caller's number overrides the count */
      mode->current = mode->next = number;
      if (mode->open != NULL) mode->open->number = number;
    }
    if (mode->open != NULL) mode->open->worked = 1;
    if (number >= core_below(self, mode)) plus_one = number + 1;
  }
  if (core_now_ns(self, &now) < 0) return NULL;
  for (Py_ssize_t place = 0; place < PyList_GET_SIZE(pairs); ++place) {
    PyObject *metric;
    double value;
    PyObject *pair = pair_at(pairs, place);
    if (pair == NULL || !PyArg_ParseTuple(pair, "Ud", &metric, &value)) return NULL;
    if (core_put(self, 0, metric, now, now, plus_one, thread->mode, value, labels) < 0) return NULL;
  }
  Py_RETURN_NONE;
}

/* Sets the time and the step + 1 of values of this step. The latter is 0 if the step is already promised to be complete. */
static int stamp(Core *self, PyObject *name, PyObject *step, long long *plus_one, long long *now) {
  Mode *mode = core_find_mode(self, name);
  *plus_one = 0;
  if (step != Py_None) {
    long long number = PyLong_AsLongLong(step);
    if (number == -1 && PyErr_Occurred()) return -1;
    if (mode != NULL) {
      if (mode->open != NULL) mode->open->worked = 1;
      if (number >= core_below(self, mode)) *plus_one = number + 1;
    }
  }
  return core_now_ns(self, now);
}

PyObject *core_record(Core *self, PyObject *arguments) {
  PyObject *values, *name, *given;
  long long plus_one, now;
  if (!PyArg_ParseTuple(arguments, "O!UO", &PyList_Type, &values, &name, &given)) return NULL;
  if (stamp(self, name, given, &plus_one, &now) < 0) return NULL;
  for (Py_ssize_t place = 0; place < PyList_GET_SIZE(values); ++place) {
    PyObject *metric, *labels;
    double value;
    PyObject *pair = pair_at(values, place);
    if (pair == NULL || !PyArg_ParseTuple(pair, "UO!d", &metric, &PyTuple_Type, &labels, &value)) return NULL;
    if (core_put(self, 0, metric, now, now, plus_one, name, value, labels) < 0) return NULL;
  }
  Py_RETURN_NONE;
}

int core_record_one(Core *self, PyObject *metric, double value, PyObject *mode, PyObject *step) {
  long long plus_one, now;
  if (stamp(self, mode, step, &plus_one, &now) < 0) return -1;
  return core_put(self, 0, metric, now, now, plus_one, mode, value, empty_tuple);
}
