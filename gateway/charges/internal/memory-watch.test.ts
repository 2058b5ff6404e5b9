import { describe, expect, test } from 'vitest'
import { isFullForLists, isNearlyFull, keepsNoFile, mayEvict } from './memory-watch.ts'

function info(used: number, most: number, policy = 'noeviction'): string {
  return `# Memory\r\nused_memory:${used}\r\nused_memory_human:1M\r\nmaxmemory:${most}\r\nmaxmemory_human:1M\r\nmaxmemory_policy:${policy}\r\n`
}

describe('a Redis', () => {
  test.each([
    [849, 1000, false],
    [850, 1000, true],
    [2000, 1000, true],
  ])('that uses %i of %i bytes: nearly full is %s', (used, most, full) => {
    expect(isNearlyFull(info(used, most))).toBe(full)
  })

  test('has no memory for lists from half of its limit', () => {
    expect([499, 500].map((used) => isFullForLists(info(used, 1000)))).toEqual([false, true])
  })

  test('without a limit, or without data, is never nearly full', () => {
    expect(isNearlyFull(info(10 ** 12, 0))).toBe(false)
    expect(isNearlyFull('')).toBe(false)
  })

  test.each([
    ['noeviction', 1000, false],
    ['allkeys-lru', 1000, true],
    ['volatile-ttl', 1000, true],
    ['allkeys-lru', 0, false],
  ])('with %s and a limit of %i may throw data away: %s', (policy, most, expected) => {
    expect(mayEvict(info(10, most, policy))).toBe(expected)
  })

  test.each([
    ['aof_enabled:0', true],
    ['aof_enabled:1', false],
    ['', false],
  ])('that says "%s" keeps no file: %s', (said, expected) => {
    expect(keepsNoFile(`# Persistence\r\nloading:0\r\n${said}\r\n`)).toBe(expected)
  })
})
