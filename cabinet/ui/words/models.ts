import { en } from './models.en.ts'
import { ru } from './models.ru.ts'

export const modelWords = { ru, en }
