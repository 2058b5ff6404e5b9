import { en } from './refusal-messages.en.ts'
import { ru } from './refusal-messages.ru.ts'

export const refusalWords = { ru, en }
