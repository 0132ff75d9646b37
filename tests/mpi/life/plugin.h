#ifndef TUTTI_TESTS_PLUGIN_H
#define TUTTI_TESTS_PLUGIN_H

int plugin_run(void);

#endif
