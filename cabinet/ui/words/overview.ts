import { en } from './overview.en.ts'
import { ru } from './overview.ru.ts'

export const overviewWords = { ru, en }
