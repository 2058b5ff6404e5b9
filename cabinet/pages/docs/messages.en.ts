import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  pages: 'Pages of the documentation',
  onThisPage: 'On this page',
  search: 'Search the documentation',
  markdown: 'This page in Markdown',
}
