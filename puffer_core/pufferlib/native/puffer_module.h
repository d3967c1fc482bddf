/* Makes a Python extension module of a game: the module `_<game>` has one attribute, `game`, a capsule named
 * "pufferlib.game" that holds the address of the game's PufferGame record. It uses Python's limited interface only, so one
 * binary serves every Python from 3.10 on. `pufferlib.native.build` writes the few lines that use it. */
#ifndef PUFFER_MODULE_H
#define PUFFER_MODULE_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#define PUFFER_CAPSULE "pufferlib.game"

#define PUFFER_MODULE(game)                                                                                      \
    static int game##_exec(PyObject *module) {                                                                   \
        PyObject *capsule = PyCapsule_New((void *)&game##_game, PUFFER_CAPSULE, NULL);                           \
        if (!capsule) return -1;                                                                                 \
        int failed = PyModule_AddObjectRef(module, "game", capsule);                                             \
        Py_DECREF(capsule);                                                                                      \
        return failed;                                                                                           \
    }                                                                                                            \
    static PyModuleDef_Slot game##_slots[] = {{Py_mod_exec, (void *)game##_exec}, {0, NULL}};                    \
    static struct PyModuleDef game##_def = {                                                                     \
        .m_base = PyModuleDef_HEAD_INIT, .m_name = "_" #game, .m_slots = game##_slots};                          \
    PyMODINIT_FUNC PyInit__##game(void);                                                                         \
    PyMODINIT_FUNC PyInit__##game(void) { return PyModuleDef_Init(&game##_def); }

#endif
