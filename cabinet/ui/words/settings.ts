import { en } from './settings.en.ts'
import { ru } from './settings.ru.ts'

export const settingsWords = { ru, en }
