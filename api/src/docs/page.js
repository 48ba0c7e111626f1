"use strict";
Redoc.init(
  "{path}/openapi.json",
  {
    disableSearch: true,
    hideDownloadButton: false,
    expandResponses: "200,201",
    jsonSampleExpandLevel: 3,
    theme: {
      typography: { fontFamily: "system-ui, sans-serif", headings: { fontFamily: "system-ui, sans-serif" } },
    },
  },
  document.getElementById("reference"),
);
