import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages of the search. */
export const searchWords = { ru, en }
