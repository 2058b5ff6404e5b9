import { test } from 'vitest'
import { survive } from './survive.ts'

test(
  'on a cluster of six Valkey servers, whatever is killed, frozen, flushed or cut off: no ruble is lost, none charged, credited or given back twice',
  () => survive({ seed: 1385, redis: 'cluster', secondsMax: 50, refundsMin: 1 }),
  300_000,
)
