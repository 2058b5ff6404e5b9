import { clusterInThisFile } from '../support/redis.ts'

// The same tests, on six servers.
clusterInThisFile()
for (const tests of ['admission', 'charges', 'worker', 'model']) await import(`./shards-${tests}.test.ts`)
