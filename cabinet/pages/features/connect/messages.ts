import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

export const connectWords = { ru, en }
