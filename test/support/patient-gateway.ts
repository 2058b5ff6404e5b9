/** Settings of gateways on a busy machine, where the thread that counts may be slow to start. */
export const patientCounting = { TOKEN_COUNT_TIMEOUT_MS: '20000' }

/** There Redis may answer later than 100 ms, too: for tests of something else. */
export const patient = { ...patientCounting, REDIS_TIMEOUT_MS: '5000' }
