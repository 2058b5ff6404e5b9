import { en } from './usage.en.ts'
import { ru } from './usage.ru.ts'

export const usageWords = { ru, en }
