export const ru = {
  skip: 'К содержанию',
  siteNavigation: 'Разделы сайта',
  models: 'Модели',
  docs: 'Документация',
  login: 'Войти',
  legal: 'Документы',
  language: 'Язык',
  preferences: 'Оформление',
  themeSystem: 'Как на устройстве',
  themeLight: 'Светлое',
  themeDark: 'Тёмное',
}
