import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages of the components. */
export const kitWords = { ru, en }
