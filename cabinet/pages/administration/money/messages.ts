import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages of payments, differences and notifications. */
export const moneyWords = { ru, en }
