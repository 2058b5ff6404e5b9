export const ru = {
  pages: 'Разделы документации',
  onThisPage: 'На этой странице',
  search: 'Поиск по документации',
  markdown: 'Эта страница в Markdown',
}
