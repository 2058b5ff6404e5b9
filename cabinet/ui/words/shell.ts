import { en } from './shell.en.ts'
import { ru } from './shell.ru.ts'

/** What stands around every page. */
export const shellWords = { ru, en }
