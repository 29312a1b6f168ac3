/* Hooks of watch() for the common case, in which tensors are not saved and a norm is not due. Each hook first checks for this case. In all
 * other cases, it calls the method of _torch_hooks.Watch, which documents the hooks. Shared state is in Watch and Loop, whose base classes
 * are defined here. */
#include "backward.inc"
#include "core.inc"

typedef struct {
  PyObject_HEAD
  PyObject *recorder, *mode, *step, *phases, *running, *step_begun;
  char ends_with_forward, own_steps;
} LoopState;

typedef struct {
  PyObject_HEAD
  PyObject *loop, *client, *looks, *attached, *due_there, *norm_step, *known_recorder, *passes;
  char saves_forward, saves_loss, saves_optimizer, norms, norm_known, reads_inputs, finds_loss, has_labels, has_scaler, on_gpu,
      distributed, forward_was_usual;
} WatchState;

enum { BEFORE_FORWARD, AFTER_FORWARD, AFTER_LOSS, ON_GRADIENTS, BEFORE_OPTIMIZER, AFTER_OPTIMIZER, AWAIT_BACKWARD, METHODS };
static const char *const method_names[METHODS] = {"_before_forward", "_after_forward",   "_after_loss",    "_on_gradients",
                                                  "_before_optimizer", "_after_optimizer", "_await_backward"};
static PyObject *methods[METHODS];

#define TEXTS(use) \
  use(forward) use(eval) use(loss) use(backward) use(optimizer) use(norm) use(train_loss) use(train_learning_rate) use(lr) \
  use(param_groups) use(training) use(is_cpu) use(numel) use(item) use(requires_grad) use(recorder)
#define DECLARE(name) static PyObject *text_##name;
TEXTS(DECLARE)

static PyTypeObject *tensor_type; /* torch.Tensor */

static PyObject *in_python(WatchState *self, int method, PyObject *const *arguments, Py_ssize_t count) {
  PyObject *function = PyObject_GetAttr((PyObject *)self, methods[method]);
  PyObject *all = function == NULL ? NULL : PyTuple_New(count);
  PyObject *done = NULL;
  if (all != NULL) {
    for (Py_ssize_t place = 0; place < count; ++place) {
      Py_INCREF(arguments[place]);
      PyTuple_SET_ITEM(all, place, arguments[place]);
    }
    done = PyObject_CallObject(function, all);
  }
  Py_XDECREF(all);
  Py_XDECREF(function);
  return done;
}

static void set(PyObject **place, PyObject *value) {
  PyObject *before = *place;
  Py_XINCREF(value);
  *place = value;
  Py_XDECREF(before);
}

static int is_true(PyObject *value) { return value != NULL && value != Py_None && PyObject_IsTrue(value) != 0; }

/* Returns a new reference, or NULL without an exception if the recorder is missing or its core is implemented in Python. */
static Core *core_in(PyObject *recorder) {
  if (recorder == NULL || !PyObject_TypeCheck(recorder, &CoreType)) return NULL;
  Py_INCREF(recorder);
  return (Core *)recorder;
}

static Core *current(WatchState *self) {
  return core_in(self->client != NULL && PyDict_Check(self->client) ? PyDict_GetItem(self->client, text_recorder) : NULL);
}

static LoopState *loop_of(WatchState *self) {
  LoopState *loop = (LoopState *)self->loop;
  int usable = loop != NULL && PyObject_TypeCheck(self->loop, &LoopStateType) && loop->running != NULL && PyDict_Check(loop->running);
  return usable ? loop : NULL;
}

/* Returns whether the last check at this point still shows that no collection is due, and records the step as checked. */
static int nothing_due(WatchState *self, PyObject *point, PyObject *mode, PyObject *step) {
  if (step == Py_None) return 1;
  PyObject *key = PyTuple_Pack(2, point, mode);
  PyObject *look = key == NULL || self->looks == NULL || !PyDict_Check(self->looks) ? NULL : PyDict_GetItemWithError(self->looks, key);
  Py_XDECREF(key);
  if (look == NULL || !PyList_CheckExact(look) || PyList_GET_SIZE(look) != 2) {
    PyErr_Clear();
    return 0;
  }
  long long number = PyLong_AsLongLong(step), last = PyLong_AsLongLong(PyList_GET_ITEM(look, 0));
  long long next = PyLong_AsLongLong(PyList_GET_ITEM(look, 1));
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  if (last > number || number >= next) return 0;
  Py_INCREF(step);
  PyList_SetItem(look, 0, step);
  return 1;
}

static int begin(Core *core, LoopState *loop, PyObject *name) {
  PyObject *arguments[4] = {loop->running, name, loop->phases, loop->mode};
  if (loop->phases == NULL || loop->mode == NULL) return 0;
  PyObject *done = core_begin_once(core, arguments, 4);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

static int end(LoopState *loop, PyObject *name) {
  PyObject *arguments[2] = {loop->running, name};
  PyObject *done = core_end_running(NULL, arguments, 2);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

/* Shared exits of the hooks: `usual`, `failed`, and `other`, which calls Python. */
#define LEAVE(method)                                                \
  usual:                                                             \
  Py_XDECREF(step);                                                  \
  Py_XDECREF(core);                                                  \
  Py_RETURN_NONE;                                                    \
  failed:                                                            \
  Py_XDECREF(step);                                                  \
  Py_XDECREF(core);                                                  \
  return NULL;                                                       \
  other:                                                             \
  Py_XDECREF(step);                                                  \
  Py_XDECREF(core);                                                  \
  return in_python(self, method, arguments, count)

static PyObject *hook_before_forward(WatchState *self, PyObject *const *arguments, Py_ssize_t count) {
  LoopState *loop = loop_of(self);
  Core *core = current(self);
  PyObject *step = NULL;
  self->forward_was_usual = 0;
  if (loop == NULL || core == NULL || count < 1 || (PyObject *)core != self->known_recorder || self->reads_inputs ||
      loop->ends_with_forward || PyDict_Size(loop->running) > 0 || is_true(self->attached))
    goto other;
  PyObject *training = PyObject_GetAttr(arguments[0], text_training);
  if (training == NULL) goto failed;
  Py_DECREF(training);
  if (training != Py_True) goto other;
  Thread *thread = core_thread_of(core);
  if (thread == NULL) goto failed;
  step = core_number_of(core_find_mode(core, thread->mode), loop->own_steps);
  if (step == NULL) goto failed;
  if (step == Py_None && loop->own_steps) { /* first pass of a step that the hooks start */
    if (!core_same_text(thread->mode, text_train)) goto other;
    PyObject *begun = core_begin_step(core, empty_tuple, NULL);
    if (begun == NULL) goto failed;
    PyObject *ours = begun == Py_None ? NULL : PyTuple_Pack(2, (PyObject *)core, begun);
    Py_DECREF(begun);
    if (ours == NULL) goto other;
    set(&loop->step_begun, ours);
    Py_DECREF(ours);
    Py_DECREF(step);
    step = core_number_of(core_find_mode(core, thread->mode), 0);
    if (step == NULL) goto failed;
  }
  if (self->saves_forward && !nothing_due(self, text_forward, thread->mode, step)) goto other;
  set(&loop->recorder, (PyObject *)core);
  set(&loop->phases, thread->phases);
  set(&loop->mode, thread->mode);
  set(&loop->step, step);
  if (begin(core, loop, text_forward) < 0) goto failed;
  self->forward_was_usual = 1;
  goto usual;
  LEAVE(BEFORE_FORWARD);
}

static PyObject *hook_after_forward(WatchState *self, PyObject *const *arguments, Py_ssize_t count) {
  LoopState *loop = loop_of(self);
  Core *core = loop == NULL ? NULL : core_in(loop->recorder);
  PyObject *step = NULL;
  if (core == NULL || !self->forward_was_usual || self->on_gpu || self->finds_loss || loop->ends_with_forward ||
      PyDict_Contains(loop->running, text_eval) != 0)
    goto other;
  if (end(loop, text_forward) < 0) goto failed;
  goto usual;
  LEAVE(AFTER_FORWARD);
}

/* Returns 1 and the value of a single-element tensor in host memory. Returns 0 for any other tensor. */
static int number_of(PyObject *tensor, double *number) {
  PyObject *found = PyObject_GetAttr(tensor, text_is_cpu);
  int usable = found == Py_True;
  Py_XDECREF(found);
  if (usable) {
    found = PyObject_CallMethodObjArgs(tensor, text_numel, NULL);
    usable = found != NULL && PyLong_AsLong(found) == 1;
    Py_XDECREF(found);
  }
  if (usable) {
    found = PyObject_CallMethodObjArgs(tensor, text_item, NULL);
    *number = found == NULL ? -1.0 : PyFloat_AsDouble(found);
    Py_XDECREF(found);
  }
  if (!PyErr_Occurred()) return usable;
  PyErr_Clear();
  return 0;
}

static PyObject *hook_after_loss(WatchState *self, PyObject *const *arguments, Py_ssize_t count) {
  LoopState *loop = loop_of(self);
  Core *core = loop == NULL ? NULL : core_in(loop->recorder);
  PyObject *step = NULL;
  double number = 0;
  if (core == NULL || loop->mode == NULL || count != 3 || Py_TYPE(arguments[2]) != tensor_type || self->has_labels) goto other;
  step = core_number_of(core_find_mode(core, loop->mode), 0);
  if (step == NULL) goto failed;
  if ((self->saves_loss && !nothing_due(self, text_loss, loop->mode, step)) || !number_of(arguments[2], &number)) goto other;
  if (core_record_one(core, text_train_loss, number, loop->mode, step) < 0) goto failed;
  PyObject *requires = PyObject_GetAttr(arguments[2], text_requires_grad);
  if (requires == NULL) goto failed;
  Py_DECREF(requires);
  if (requires == Py_True) {
    PyObject *done = passes_are_known(self->passes) ? passes_note((Passes *)self->passes, arguments[2])
                                                    : in_python(self, AWAIT_BACKWARD, arguments + 2, 1);
    if (done == NULL) goto failed;
    Py_DECREF(done);
  }
  goto usual;
  LEAVE(AFTER_LOSS);
}

static PyObject *hook_before_backward(WatchState *self, PyObject *unused) {
  LoopState *loop = loop_of(self);
  Core *core = current(self);
  int failed = loop != NULL && core != NULL && loop->recorder == (PyObject *)core && begin(core, loop, text_backward) < 0;
  (void)unused;
  Py_XDECREF(core);
  if (failed) return NULL;
  Py_RETURN_NONE;
}

static PyObject *hook_gradients_ready(WatchState *self, PyObject *const *arguments, Py_ssize_t count) {
  LoopState *loop = loop_of(self);
  Core *core = loop == NULL ? NULL : core_in(loop->recorder);
  PyObject *step = NULL;
  if (core == NULL || loop->mode == NULL || self->distributed) goto other;
  if (end(loop, text_backward) < 0) goto failed;
  if (!self->norms || !core_same_text(loop->mode, text_train)) goto usual;
  step = core_number_of(core_find_mode(core, loop->mode), 0);
  if (step == NULL) goto failed;
  if (PyObject_RichCompareBool(step, self->norm_step != NULL ? self->norm_step : Py_None, Py_EQ) != 0 ||
      !nothing_due(self, text_norm, loop->mode, step))
    goto other;
  goto usual;
  LEAVE(ON_GRADIENTS);
}

static PyObject *hook_before_optimizer(WatchState *self, PyObject *const *arguments, Py_ssize_t count) {
  LoopState *loop = loop_of(self);
  Core *core = current(self);
  PyObject *step = NULL;
  if (loop == NULL || core == NULL || passes_would_miss(self->passes) || is_true(self->due_there)) goto other;
  Thread *thread = core_thread_of(core);
  step = thread == NULL ? NULL : core_number_of(core_find_mode(core, thread->mode), 0);
  if (step == NULL) goto failed;
  if ((self->saves_optimizer && !nothing_due(self, text_optimizer, thread->mode, step)) ||
      (self->norms && !self->norm_known && !nothing_due(self, text_norm, thread->mode, step)))
    goto other;
  passes_forget(self->passes);
  set(&loop->recorder, (PyObject *)core);
  set(&loop->phases, thread->phases);
  set(&loop->mode, thread->mode);
  set(&loop->step, step);
  if (end(loop, text_backward) < 0 || begin(core, loop, text_optimizer) < 0) goto failed;
  goto usual;
  LEAVE(BEFORE_OPTIMIZER);
}

/* Returns 1 and the learning rate of the first group. Returns 0 if the rate is not a float. */
static int learning_rate(PyObject *optimizer, double *rate) {
  PyObject *groups = PyObject_GetAttr(optimizer, text_param_groups);
  PyObject *group = groups != NULL && PyList_Check(groups) && PyList_GET_SIZE(groups) > 0 ? PyList_GET_ITEM(groups, 0) : NULL;
  PyObject *found = group != NULL && PyDict_Check(group) ? PyDict_GetItemWithError(group, text_lr) : NULL;
  int usable = found != NULL && PyFloat_CheckExact(found);
  if (usable) *rate = PyFloat_AS_DOUBLE(found);
  Py_XDECREF(groups);
  PyErr_Clear();
  return usable;
}

/* Calls end_step() of Recorder.loops, which is Python code. A step outside a loop opens a loop. */
static PyObject *end_step_of_loops(PyObject *recorder) {
  PyObject *loops = PyObject_GetAttrString(recorder, "loops");
  PyObject *done = loops == NULL ? NULL : PyObject_CallMethod(loops, "end_step", NULL);
  Py_XDECREF(loops);
  return done;
}

static PyObject *hook_after_optimizer(WatchState *self, PyObject *const *arguments, Py_ssize_t count) {
  LoopState *loop = loop_of(self);
  Core *core = loop == NULL ? NULL : core_in(loop->recorder);
  PyObject *step = NULL;
  double rate = 0;
  if (core == NULL || loop->mode == NULL || count < 1 || is_true(self->due_there) || self->on_gpu || self->has_scaler ||
      self->reads_inputs || loop->ends_with_forward || !learning_rate(arguments[0], &rate))
    goto other;
  if (end(loop, text_optimizer) < 0) goto failed;
  step = core_number_of(core_find_mode(core, loop->mode), 0); /* a closure's forward pass may have started a step */
  if (step == NULL) goto failed;
  set(&loop->step, step);
  if (core_record_one(core, text_train_learning_rate, rate, loop->mode, step) < 0) goto failed;
  self->norm_known = 0;
  set(&self->norm_step, Py_None);
  PyObject *begun = loop->step_begun; /* takes ownership of the reference */
  loop->step_begun = NULL;
  if (begun != NULL && PyTuple_Check(begun) && PyTuple_GET_SIZE(begun) == 2 &&
      PyObject_TypeCheck(PyTuple_GET_ITEM(begun, 0), &CoreType)) {
    PyObject *done = core_end_step((Core *)PyTuple_GET_ITEM(begun, 0), PyTuple_GET_ITEM(begun, 1));
    if (done != NULL) Py_SETREF(done, end_step_of_loops(PyTuple_GET_ITEM(begun, 0)));
    Py_DECREF(begun);
    if (done == NULL) goto failed;
    Py_DECREF(done);
  } else {
    Py_XDECREF(begun);
  }
  goto usual;
  LEAVE(AFTER_OPTIMIZER);
}

/* Types, whose members the Python classes set. */

static int loop_traverse(LoopState *self, visitproc visit, void *arg) {
  Py_VISIT(self->recorder);
  Py_VISIT(self->phases);
  Py_VISIT(self->running);
  Py_VISIT(self->step_begun);
  return 0;
}

static int loop_clear(LoopState *self) {
  PyObject **held[] = {&self->recorder, &self->mode, &self->step, &self->phases, &self->running, &self->step_begun};
  for (size_t place = 0; place < sizeof held / sizeof *held; ++place) Py_CLEAR(*held[place]);
  return 0;
}

static void loop_dealloc(LoopState *self) {
  PyObject_GC_UnTrack(self);
  loop_clear(self);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

#define MEMBER(type, kind, name, field) {name, kind, offsetof(type, field), 0, NULL}
static PyMemberDef loop_members[] = {MEMBER(LoopState, T_OBJECT, "recorder", recorder),
                                     MEMBER(LoopState, T_OBJECT, "mode", mode),
                                     MEMBER(LoopState, T_OBJECT, "step", step),
                                     MEMBER(LoopState, T_OBJECT, "phases", phases),
                                     MEMBER(LoopState, T_OBJECT, "_running", running),
                                     MEMBER(LoopState, T_OBJECT, "_step_begun", step_begun),
                                     MEMBER(LoopState, T_BOOL, "_ends_with_forward", ends_with_forward),
                                     MEMBER(LoopState, T_BOOL, "_own_steps", own_steps),
                                     {NULL, 0, 0, 0, NULL}};

PyTypeObject LoopStateType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.LoopState",
    .tp_basicsize = sizeof(LoopState),
    .tp_dealloc = (destructor)loop_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)loop_traverse,
    .tp_clear = (inquiry)loop_clear,
    .tp_members = loop_members,
    .tp_new = PyType_GenericNew,
};

static int watch_traverse(WatchState *self, visitproc visit, void *arg) {
  Py_VISIT(self->loop);
  Py_VISIT(self->looks);
  Py_VISIT(self->attached);
  Py_VISIT(self->due_there);
  Py_VISIT(self->known_recorder);
  Py_VISIT(self->passes);
  return 0;
}

static int watch_clear(WatchState *self) {
  PyObject **held[] = {&self->loop,      &self->client,    &self->looks,          &self->attached,
                       &self->due_there, &self->norm_step, &self->known_recorder, &self->passes};
  for (size_t place = 0; place < sizeof held / sizeof *held; ++place) Py_CLEAR(*held[place]);
  return 0;
}

static void watch_dealloc(WatchState *self) {
  PyObject_GC_UnTrack(self);
  watch_clear(self);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef watch_members[] = {MEMBER(WatchState, T_OBJECT, "_loop", loop),
                                      MEMBER(WatchState, T_OBJECT, "_client", client),
                                      MEMBER(WatchState, T_OBJECT, "_looks", looks),
                                      MEMBER(WatchState, T_OBJECT, "_attached", attached),
                                      MEMBER(WatchState, T_OBJECT, "_due_there", due_there),
                                      MEMBER(WatchState, T_OBJECT, "_norm_step", norm_step),
                                      MEMBER(WatchState, T_OBJECT, "_known_recorder", known_recorder),
                                      MEMBER(WatchState, T_OBJECT, "_passes", passes),
                                      MEMBER(WatchState, T_BOOL, "_saves_forward", saves_forward),
                                      MEMBER(WatchState, T_BOOL, "_saves_loss", saves_loss),
                                      MEMBER(WatchState, T_BOOL, "_saves_optimizer", saves_optimizer),
                                      MEMBER(WatchState, T_BOOL, "_norms", norms),
                                      MEMBER(WatchState, T_BOOL, "_norm_known", norm_known),
                                      MEMBER(WatchState, T_BOOL, "_reads_inputs", reads_inputs),
                                      MEMBER(WatchState, T_BOOL, "_finds_loss", finds_loss),
                                      MEMBER(WatchState, T_BOOL, "_has_labels", has_labels),
                                      MEMBER(WatchState, T_BOOL, "_has_scaler", has_scaler),
                                      MEMBER(WatchState, T_BOOL, "_on_gpu", on_gpu),
                                      MEMBER(WatchState, T_BOOL, "_distributed", distributed),
                                      {NULL, 0, 0, 0, NULL}};

#define HOOK(name) {#name, (PyCFunction)(void (*)(void))hook_##name, METH_FASTCALL, NULL}
static PyMethodDef watch_methods[] = {HOOK(before_forward),
                                      HOOK(after_forward),
                                      HOOK(after_loss),
                                      {"before_backward", (PyCFunction)hook_before_backward, METH_NOARGS, NULL},
                                      HOOK(gradients_ready),
                                      HOOK(before_optimizer),
                                      HOOK(after_optimizer),
                                      {NULL, NULL, 0, NULL}};

PyTypeObject WatchStateType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pitwall._native.WatchState",
    .tp_basicsize = sizeof(WatchState),
    .tp_dealloc = (destructor)watch_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)watch_traverse,
    .tp_clear = (inquiry)watch_clear,
    .tp_members = watch_members,
    .tp_methods = watch_methods,
    .tp_new = PyType_GenericNew,
};

PyObject *native_set_tensor_type(PyObject *module, PyObject *type) {
  (void)module;
  if (!PyType_Check(type)) {
    PyErr_SetString(PyExc_TypeError, "expected a type");
    return NULL;
  }
  set((PyObject **)&tensor_type, type);
  Py_RETURN_NONE;
}

#define INTERN(name) \
  if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;

int prepare_hooks(void) {
  TEXTS(INTERN)
  for (int place = 0; place < METHODS; ++place)
    if ((methods[place] = PyUnicode_InternFromString(method_names[place])) == NULL) return -1;
  return 0;
}
