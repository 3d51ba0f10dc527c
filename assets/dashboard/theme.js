// In the head and blocking, so that a stored theme never flashes. `?theme=dark` wins over it.
(() => {
  let theme = new URLSearchParams(location.search).get('theme');
  try { theme ??= localStorage.getItem('ringmail.theme'); } catch { /* The browser stores nothing. */ }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
})();
