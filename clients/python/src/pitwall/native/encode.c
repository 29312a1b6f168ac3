/* C implementation of _wire.span() and _wire.value(). */
#include "items.inc"

#define MAX_CACHED 4096

static PyObject *wire;        /* module pitwall._wire, which encodes texts and labels that are not cached yet */
static PyObject *text_cache;  /* text -> its length and bytes */
static PyObject *label_cache; /* labels -> Value.labels */

typedef struct {
  unsigned char *bytes;
  size_t size, room;
} Buffer;

static unsigned char *grow(Buffer *buffer, size_t more) {
  if (buffer->size + more > buffer->room) {
    size_t room = (buffer->size + more) * 2;
    unsigned char *bytes = PyMem_Realloc(buffer->bytes, room);
    if (bytes == NULL) {
      PyErr_NoMemory();
      return NULL;
    }
    buffer->bytes = bytes;
    buffer->room = room;
  }
  return buffer->bytes + buffer->size;
}

static unsigned char *put_varint(unsigned char *to, unsigned long long value) {
  for (; value >= 0x80; value >>= 7) *to++ = (unsigned char)(value | 0x80);
  *to++ = (unsigned char)value;
  return to;
}

/* Returns the cached bytes of the key as a borrowed reference. A function of _wire creates missing entries. */
static PyObject *cached(PyObject *cache, PyObject *key, const char *function) {
  PyObject *found = PyDict_GetItemWithError(cache, key);
  if (found != NULL || PyErr_Occurred()) return found;
  found = PyObject_CallMethod(wire, function, "(O)", key); /* in parentheses because the key may be a tuple */
  if (found == NULL) return NULL;
  if (!PyBytes_Check(found)) {
    PyErr_Format(PyExc_TypeError, "_wire.%s must return bytes", function);
    Py_DECREF(found);
    return NULL;
  }
  if (PyDict_GET_SIZE(cache) >= MAX_CACHED) PyDict_Clear(cache);
  int failed = PyDict_SetItem(cache, key, found);
  Py_DECREF(found); /* the cache owns a reference */
  return failed < 0 ? NULL : found;
}

static int put_cached(Buffer *buffer, PyObject *cache, PyObject *key, const char *function, int field) {
  PyObject *found = cached(cache, key, function);
  if (found == NULL) return -1;
  size_t size = (size_t)PyBytes_GET_SIZE(found);
  if (size == 0) return 0; /* default values are omitted */
  unsigned char *to = grow(buffer, size + 1);
  if (to == NULL) return -1;
  if (field) *to++ = (unsigned char)(field << 3 | 2);
  memcpy(to, PyBytes_AS_STRING(found), size);
  buffer->size += size + (field ? 1 : 0);
  return 0;
}

/* Appends the item as an element of Update.spans or Update.values, without its length. */
static int put_body(Buffer *buffer, Item *item, long long base) {
  unsigned char *to, *begin;
  if (item->kind) {
    if ((to = grow(buffer, 2)) == NULL) return -1;
    *to++ = 0x08;
    *to++ = item->kind == KIND_STEP ? 1 : 2;
    buffer->size += 2;
    if (put_cached(buffer, text_cache, item->name, "sized", 2) < 0 || (to = begin = grow(buffer, 32)) == NULL) return -1;
    *to++ = 0x18;
    to = put_varint(to, (unsigned long long)(item->start + base));
    *to++ = 0x20;
    to = put_varint(to, (unsigned long long)(item->end - item->start));
  } else {
    if (put_cached(buffer, text_cache, item->name, "sized", 1) < 0 || put_cached(buffer, label_cache, item->labels, "value_labels", 0) < 0 ||
        (to = begin = grow(buffer, 40)) == NULL)
      return -1;
    unsigned long long bits;
    memcpy(&bits, &item->number, sizeof bits);
    *to++ = 0x19;
    for (int byte = 0; byte < 8; ++byte) *to++ = (unsigned char)(bits >> (8 * byte));
    *to++ = 0x20;
    to = put_varint(to, (unsigned long long)(item->end + base));
  }
  if (item->step_plus_one) {
    *to++ = 0x28;
    to = put_varint(to, (unsigned long long)item->step_plus_one);
  }
  buffer->size += (size_t)(to - begin);
  return put_cached(buffer, text_cache, item->mode, "sized", 6);
}

PyObject *native_encode(PyObject *module, PyObject *arguments) {
  PyObject *items, *result = NULL;
  long long base;
  Buffer all = {NULL, 0, 0}, one = {NULL, 0, 0};
  (void)module;
  if (!PyArg_ParseTuple(arguments, "O!L", &PyList_Type, &items, &base)) return NULL;
  for (Py_ssize_t place = 0; place < PyList_GET_SIZE(items); ++place) {
    Item *item = (Item *)PyList_GET_ITEM(items, place);
    if (Py_TYPE(item) != &ItemType) {
      PyErr_SetString(PyExc_TypeError, "expected an Item");
      goto done;
    }
    one.size = 0;
    if (put_body(&one, item, base) < 0) { /* one invalid item must not end the stream */
      if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) goto done;
      PyObject *kind, *cause, *trace;
      PyErr_Fetch(&kind, &cause, &trace);
      PyObject *logged = PyObject_CallMethod(wire, "not_sent", "(OO)", item->name, cause != NULL ? cause : Py_None);
      PyErr_Clear();
      Py_XDECREF(logged);
      Py_XDECREF(kind);
      Py_XDECREF(cause);
      Py_XDECREF(trace);
      continue;
    }
    unsigned char *to = grow(&all, one.size + 11), *begin = to;
    if (to == NULL) goto done;
    *to++ = item->kind ? 0x12 : 0x1a;
    to = put_varint(to, one.size);
    memcpy(to, one.bytes, one.size);
    all.size += (size_t)(to - begin) + one.size;
  }
  result = PyBytes_FromStringAndSize((const char *)all.bytes, (Py_ssize_t)all.size);
done:
  PyMem_Free(all.bytes);
  PyMem_Free(one.bytes);
  return result;
}

PyObject *native_lowest_steps(PyObject *module, PyObject *items) {
  PyObject *lowest = PyDict_New();
  (void)module;
  if (lowest == NULL) return NULL;
  if (!PyList_Check(items)) {
    PyErr_SetString(PyExc_TypeError, "expected a list");
    goto failed;
  }
  for (Py_ssize_t place = 0; place < PyList_GET_SIZE(items); ++place) {
    Item *item = (Item *)PyList_GET_ITEM(items, place);
    if (Py_TYPE(item) != &ItemType || item->step_plus_one == 0) continue;
    PyObject *before = PyDict_GetItemWithError(lowest, item->mode);
    if (before == NULL && PyErr_Occurred()) goto failed;
    if (before != NULL && PyLong_AsLongLong(before) <= item->step_plus_one - 1) continue;
    PyObject *number = PyLong_FromLongLong(item->step_plus_one - 1);
    if (number == NULL || PyDict_SetItem(lowest, item->mode, number) < 0) {
      Py_XDECREF(number);
      goto failed;
    }
    Py_DECREF(number);
  }
  return lowest;
failed:
  Py_DECREF(lowest);
  return NULL;
}

int prepare_encoding(void) {
  wire = PyImport_ImportModule("pitwall._wire");
  text_cache = PyDict_New();
  label_cache = PyDict_New();
  return wire == NULL || text_cache == NULL || label_cache == NULL ? -1 : 0;
}
