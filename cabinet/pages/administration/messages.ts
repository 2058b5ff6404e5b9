import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages of the pages of administration. */
export const adminWords = { ru, en }
