import { en } from './received-messages.en.ts'
import { ru } from './received-messages.ru.ts'

export const receivedWords = { ru, en }
