/* Sections of rules, and what each names. Private to coll/. */
#ifndef TUTTI_COLL_SECTIONS_H
#define TUTTI_COLL_SECTIONS_H

#include "rules/grammar.h"

/* By enum tutti_section. */
extern const struct tutti_sections tutti_sections;

#endif
