import { en } from './token-messages.en.ts'
import { ru } from './token-messages.ru.ts'

export const tokenWords = { ru, en }
