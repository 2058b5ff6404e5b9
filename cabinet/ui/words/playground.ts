import { en } from './playground.en.ts'
import { ru } from './playground.ru.ts'

export const playgroundWords = { ru, en }
