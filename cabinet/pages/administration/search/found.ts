import type { Answer } from '../calls.ts'

export type Found = Answer<'POST /admin/search'>
