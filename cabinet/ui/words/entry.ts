import { en } from './entry.en.ts'
import { ru } from './entry.ru.ts'

export const entryWords = { ru, en }
