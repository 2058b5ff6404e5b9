import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages around every page. */
export const shellWords = { ru, en }
