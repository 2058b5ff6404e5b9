import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages of the page of operations. */
export const operationWords = { ru, en }
