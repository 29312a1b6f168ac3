/* Client hot path in C. It does the work of _core.py and _wire.py per span and value in a third of the time, and with a smaller cache
 * footprint. The module is optional, because those two modules have the same function. Tests compare the implementations.
 *
 * All code runs under the interpreter lock and only calls Python where noted, so the module does not need its own lock.
 */
#include "items.inc"

static PyMethodDef functions[] = {{"encode", native_encode, METH_VARARGS, NULL},
                                  {"lowest_steps", native_lowest_steps, METH_O, NULL},
                                  {"gradients", native_gradients, METH_O, NULL},
                                  {"set_tensor_type", native_set_tensor_type, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "pitwall._native", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
  PyTypeObject *types[] = {&ItemType, &ModeType, &StepType, &ThreadType, &CoreType, &PassesType, &RunType, &LoopStateType, &WatchStateType};
  for (size_t place = 0; place < sizeof types / sizeof *types; ++place)
    if (PyType_Ready(types[place]) < 0) return NULL;
  text_train = PyUnicode_InternFromString("train");
  text_step = PyUnicode_InternFromString("step");
  text_dataloader = PyUnicode_InternFromString("dataloader");
  text_empty = PyUnicode_InternFromString("");
  empty_tuple = PyTuple_New(0);
  if (!text_train || !text_step || !text_dataloader || !text_empty || !empty_tuple) return NULL;
  if (prepare_encoding() < 0 || prepare_backward() < 0 || prepare_hooks() < 0 || prepare_gradients() < 0) return NULL;
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  struct {
    const char *name;
    PyTypeObject *type;
  } shown[] = {{"Item", &ItemType}, {"Core", &CoreType}, {"Passes", &PassesType}, {"Run", &RunType},
               {"LoopState", &LoopStateType}, {"WatchState", &WatchStateType}};
  for (size_t place = 0; place < sizeof shown / sizeof *shown; ++place) {
    Py_INCREF(shown[place].type);
    if (PyModule_AddObject(module, shown[place].name, (PyObject *)shown[place].type) < 0) {
      Py_DECREF(module);
      return NULL;
    }
  }
  return module;
}
