int stratus_placeholder(void);
