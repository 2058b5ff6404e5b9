import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages of a customer's page. */
export const customerWords = { ru, en }
