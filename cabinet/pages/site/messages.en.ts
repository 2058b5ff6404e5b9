import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  found: (count: number) => `Found: ${count}`,
  unavailable: 'The search is unavailable. Try again.',
}
