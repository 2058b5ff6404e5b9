import { en } from './legal.en.ts'
import { ru } from './legal.ru.ts'

export const legalWords = { ru, en }
