import { en } from './auto-top-up-messages.en.ts'
import { ru } from './auto-top-up-messages.ru.ts'

export const autoTopUpWords = { ru, en }
