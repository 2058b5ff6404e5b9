import { setTimeout as pause } from 'node:timers/promises'

/**
 * Does `work`, and answers after `leastMs` at the earliest: that an address is known must not show in how long a letter
 * takes to write. Throws at once.
 */
export async function evenly<Answer>(leastMs: number, work: () => Promise<Answer>): Promise<Answer> {
  const [answer] = await Promise.all([work(), pause(leastMs)])
  return answer
}
