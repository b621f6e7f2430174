from ._openapi import openapi_document as openapi_document
from ._route import API as API, Route as Route
from ._routes import ROUTES as ROUTES, routes_listed as routes_listed
from ._server_process import ServeOptions as ServeOptions, serve as serve, site_of as site_of
from ._site import Access as Access
