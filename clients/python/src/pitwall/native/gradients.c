/* Gradients of a model's parameters. The generators of torch.nn.Module are avoided because they take longer than the norm. */
#include "items.inc"

#define MOST_DEEP 256 /* maximum nesting of modules */

static PyObject *text_modules, *text_parameters, *text_grad;

/* Returns the module's dictionary with this name, or NULL with an exception set. */
static PyObject *table_in(PyObject *module, PyObject *name) {
  PyObject *table = PyObject_GetAttr(module, name);
  if (table == NULL || PyDict_Check(table)) return table;
  Py_DECREF(table);
  PyErr_SetString(PyExc_TypeError, "expected a module");
  return NULL;
}

/* Returns whether this is the object's first occurrence, or -1 with an exception set. */
static int is_new(PyObject *seen, PyObject *object) {
  PyObject *key = PyLong_FromVoidPtr(object);
  int known = key == NULL ? -1 : PySet_Contains(seen, key);
  int failed = known < 0 || (known == 0 && PySet_Add(seen, key) < 0);
  Py_XDECREF(key);
  return failed ? -1 : !known;
}

static int add_from(PyObject *module, PyObject *seen, PyObject *found, int depth) {
  int fresh = is_new(seen, module), failed = 0;
  if (fresh <= 0) return fresh;
  if (depth == MOST_DEEP) {
    PyErr_SetString(PyExc_RecursionError, "modules are nested too deeply");
    return -1;
  }
  PyObject *key, *value, *table = table_in(module, text_parameters);
  Py_ssize_t place = 0;
  if (table == NULL) return -1;
  while (!failed && PyDict_Next(table, &place, &key, &value)) {
    if (value == Py_None) continue;
    fresh = is_new(seen, value);
    PyObject *gradient = fresh > 0 ? PyObject_GetAttr(value, text_grad) : NULL;
    failed = fresh < 0 || (fresh > 0 && gradient == NULL) ||
             (gradient != NULL && gradient != Py_None && PyList_Append(found, gradient) < 0);
    Py_XDECREF(gradient);
  }
  Py_DECREF(table);
  table = failed ? NULL : table_in(module, text_modules);
  if (table == NULL) return -1;
  place = 0;
  while (!failed && PyDict_Next(table, &place, &key, &value))
    failed = value != Py_None && add_from(value, seen, found, depth + 1) < 0;
  Py_DECREF(table);
  return failed ? -1 : 0;
}

/* Returns [p.grad for p in model.parameters() if p.grad is not None]. */
PyObject *native_gradients(PyObject *module, PyObject *model) {
  PyObject *found = PyList_New(0), *seen = PySet_New(NULL);
  (void)module;
  if (found == NULL || seen == NULL || add_from(model, seen, found, 0) < 0) Py_CLEAR(found);
  Py_XDECREF(seen);
  return found;
}

int prepare_gradients(void) {
  text_modules = PyUnicode_InternFromString("_modules");
  text_parameters = PyUnicode_InternFromString("_parameters");
  text_grad = PyUnicode_InternFromString("grad");
  return text_modules == NULL || text_parameters == NULL || text_grad == NULL ? -1 : 0;
}
