import { en } from './keys.en.ts'
import { ru } from './keys.ru.ts'

export const keyWords = { ru, en }
