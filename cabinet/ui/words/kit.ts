import { en } from './kit.en.ts'
import { ru } from './kit.ru.ts'

/** What components say by themselves. */
export const kitWords = { ru, en }
