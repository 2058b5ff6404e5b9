import { en } from './site.en.ts'
import { ru } from './site.ru.ts'

export const siteWords = { ru, en }
