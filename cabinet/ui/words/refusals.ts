import { en } from './refusals.en.ts'
import { ru } from './refusals.ru.ts'

export const refusalWords = { ru, en }
