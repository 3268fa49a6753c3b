#include "CSimdjson.h"
int stratus_placeholder(void){return 0;}
