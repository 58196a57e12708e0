# La página de contratación. Cada texto lleva el nombre por el que lo llama el código.

## En torno a la página

skip_to_step = Ir al paso actual
page_title = { $title } – { $name }
error_title = Error: { $title }
sandbox = Entorno de pruebas.
sandbox_means = Esto es un ensayo: no se verifica ninguna identidad, no se mueve dinero y no se envía ningún artículo.
questions = ¿Tiene preguntas? { $name }:
terms_of_business = Condiciones
privacy = Privacidad
# A qué se cambia la página, en ese idioma.
other_language = English

## Páginas que solo dicen algo

missing_title = Esta página no existe
missing_text = El enlace está incompleto. Utilice el enlace tal como se lo enviaron.
replaced_title = Este enlace ya no es válido
replaced_text = Este enlace fue sustituido por uno más reciente. Utilice el último enlace que recibió o pídaselo a { $name }.
personal_title = Este enlace es personal
personal_text = La página de una contratación se abre con un enlace personal, que no se muestra aquí.
personal_advice = Si usted es el cliente, utilice el enlace que recibió o pídaselo a la tienda en la que contrata.
elsewhere_title = Este formulario viene de otro sitio
elsewhere_text = Los formularios de una contratación solo se aceptan desde su propia página. Abra la página con su enlace e inténtelo de nuevo.
method_title = Esta dirección no se abre así
method_text = Abra la página de su contratación con su enlace.
timeout_title = Ha tardado demasiado
timeout_text = Lo que envió no llegó a tiempo. No se ha cambiado nada; inténtelo de nuevo.
large_title = Es demasiado largo
large_text = Lo que envió es más largo de lo que admite el formulario. No se ha cambiado nada.
many_title = Un momento, por favor
many_text = Ha habido demasiadas solicitudes en poco tiempo. Espere un momento e inténtelo de nuevo.
broken_title = Algo ha fallado
broken_text = El problema es nuestro. Espere un momento y vuelva a abrir su contratación: allí se muestra todo lo que se haya hecho.
unreadable_title = No se ha podido leer
unreadable_text = Lo que se envió no es un formulario de esta página. No se ha cambiado nada; abra la página e inténtelo de nuevo.
back_to_checkout = Volver a su contratación
number_of_failure = Si vuelve a ocurrir, indíquenos este número: { $id }

## El camino y lo que falta

steps = Pasos
step_of = { $name } ({ $number }/{ $total })
step_details = Sus datos
step_identity = Identidad
step_qualification = Solvencia
step_delivery = Entrega
step_review = Revisión
step_deposit = Depósito
step_method = Forma de pago
step_signature = Firma
step_confirmation = Confirmación
how_far = Su progreso

## En qué punto está

who_are_you = Díganos quién es usted
who_are_you_text = Para el contrato se necesitan su nombre y su dirección. Más adelante podrá volver y corregirlos.
identity_required = Confirme su identidad
identity_required_text = Antes de ofrecerle un contrato tenemos que saber que usted es quien dice ser.
identity_verifying_text = Su verificación está abierta. Entregue lo que se le pide para continuar.
identity_processing = Se está comprobando su identidad
qualification_pending = Se está examinando su solicitud
qualification_by_hand_text = La decisión está pendiente: una persona examina su solicitud. Puede cerrar esta página y volver a ella en cualquier momento.
shipping_address_pending = ¿Adónde se lo enviamos?
shipping_address_pending_text = Indique la dirección a la que se envía el artículo.
pickup_location_pending = ¿Dónde lo recogerá?
pickup_location_pending_text = Elija uno de los puntos de recogida.
lease_review_pending = Revise su contrato
lease_review_pending_text = Lea lo que alquila y lo que cuesta. Al aceptar estas condiciones todavía no se cobra nada.
deposit_pending = Autorice su depósito
deposit_pending_text = El depósito se reserva ahora y se cobra cuando haya firmado. Es reembolsable.
deposit_processing = Se está autorizando su depósito
deposit_failed = No se autorizó su depósito
deposit_failed_text = No se ha cobrado nada. Puede intentarlo de nuevo, también con otra tarjeta.
pays_elsewhere = Su pago está abierto
pays_elsewhere_text = Continúe en la página del procesador de pagos. Cuando haya pagado allí, esta página seguirá sola.
method_pending = Elija cómo paga cada mes
method_pending_text = Los pagos mensuales se cobran con esta forma de pago.
documents_pending = Firme su contrato
documents_pending_text = Con su firma se cierra el contrato y se cobra su depósito.
signs_elsewhere_text = Su contrato se firma con el servicio de firma de quien le arrienda: recibirá noticias suyas por correo electrónico. Esta página vuelve a comprobarlo sola.
documents_prepared = Se está preparando su contrato
documents_signed = Gracias por firmar
documents_signed_text = Se está cobrando su depósito. Esta página se actualiza sola.
capture_failed = No se pudo cobrar su depósito
capture_failed_text = Usted ha firmado, pero no se pudo cobrar el depósito reservado. Puede intentarlo de nuevo.
order_confirmed = Su pedido está confirmado
order_confirmed_text = Estamos preparando su artículo. No tiene que hacer nada.
addendums_pending = Falta acordar algo más
addendums_pending_text = Antes de enviarle el artículo hay que firmar un anexo a su contrato. Nos pondremos en contacto con usted.
shipped = Su artículo está en camino
shipped_text = Su alquiler empieza cuando llegue.
fulfillment_exception = Hay un problema con su pedido
fulfillment_exception_text = Su artículo no se pudo enviar o entregar como estaba previsto. Nos pondremos en contacto con usted.
lease_active = Su alquiler está en vigor
lease_active_text = Todo está listo. Que lo disfrute.
return_pending = Su alquiler está terminando
return_pending_text = Devuelva el artículo, por favor. Su depósito se reembolsa cuando haya llegado.
returned = Su alquiler ha terminado
returned_text = El artículo ha vuelto y su depósito se ha reembolsado. Gracias.
waitlisted = Está usted en la lista de espera
waitlisted_for_stock_text = Este artículo no está disponible por el momento. Podrá continuar en cuanto le llegue el turno. No se cobra nada.
waitlisted_with_deposit_text = El último se asignó mientras se autorizaba su depósito. Usted es de los primeros de la lista; su depósito está reservado y no se cobra.
waitlisted_for_location = Todavía no entregamos en su dirección
waitlisted_for_location_text = Su dirección está fuera de la zona de servicio. Podrá continuar en cuanto eso cambie. No se cobra nada.
place_in_line = Ocupa usted el puesto número { $place } de la lista.
cancelled = Esta contratación se ha cancelado
cancelled_text = Un depósito reservado se libera y uno cobrado se reembolsa.
expired = Esta contratación ha caducado
expired_text = Pasó demasiado tiempo sin actividad. No se ha cobrado nada.
identity_failed = No se pudo confirmar su identidad
qualification_failed = No podemos ofrecerle este contrato
cannot_go_on_text = Esta contratación no puede continuar. No se ha cobrado nada.
a_moment_text = Suele tardar un momento. No tiene que hacer nada; esta página se actualiza sola.
look_again = Mirar de nuevo

## Por qué se denegó el crédito, según los formularios modelo de 12 CFR 1002, apéndice C

principal_reasons = Los motivos principales de esta decisión:
ask_about_decision = Si tiene preguntas sobre esta decisión, diríjase a { $name }.
credit_application_incomplete = Solicitud de crédito incompleta
insufficient_credit_references = Número insuficiente de referencias de crédito proporcionadas
unacceptable_credit_references = Tipo no aceptable de referencias de crédito proporcionadas
unable_to_verify_credit_references = No se pudieron verificar las referencias de crédito
temporary_or_irregular_employment = Empleo temporal o irregular
unable_to_verify_employment = No se pudo verificar el empleo
length_of_employment = Antigüedad en el empleo
income_insufficient = Ingresos insuficientes para el importe del crédito solicitado
excessive_obligations = Obligaciones excesivas en relación con los ingresos
unable_to_verify_income = No se pudieron verificar los ingresos
length_of_residence = Tiempo de residencia
temporary_residence = Residencia temporal
unable_to_verify_residence = No se pudo verificar la residencia
no_credit_file = No existe historial de crédito
limited_credit_experience = Experiencia crediticia limitada
poor_performance_with_us = Mal comportamiento crediticio con nosotros
delinquent_obligations = Obligaciones de crédito con terceros, pasadas o actuales, en mora
collection_or_judgment = Gestión de cobro o sentencia judicial
garnishment_or_attachment = Retención o embargo
foreclosure_or_repossession = Ejecución hipotecaria o recuperación del bien
bankruptcy = Quiebra o concurso
recent_inquiries = Número de consultas recientes en el informe de la agencia de crédito
collateral_insufficient = Valor o tipo de garantía insuficiente
other_reasons = Otros motivos

## Qué se alquila y cuánto cuesta

your_lease = Su alquiler
option_chosen = { $name }: { $value }
about_the_item = Acerca de este artículo
serial_number = Número de serie { $number }
monthly = { $amount } al mes
how_long = ¿Durante cuánto tiempo quiere alquilar?
no_terms = Por el momento este artículo no se ofrece con ningún plazo. Póngase en contacto con nosotros.
term = Plazo
months =
    { $count ->
        [one] { $count } mes
       *[other] { $count } meses
    }
your_choice = (su elección)
every_month = Cada mes
in_all = En total
purchase_price = Precio al final
change_the_term = Cambiar el plazo
choose_this_term = Elegir este plazo
monthly_payment = Cuota
insurance = Seguro
monthly_total = Total mensual
taken_when = Qué se cobra y cuándo
deposit = Depósito reembolsable
times = { $name } × { $quantity }
reserved_with_deposit = Se reserva con el depósito y se cobra al firmar
first_month_on_delivery = Primer mes, se cobra cuando llegue su artículo
first_month_on_shipment = Primer mes, se cobra cuando se entregue su artículo
due_at_signing = A pagar con la firma
list_price = Precio de lista
discount = Descuento
percent = { $value } %
monthly_payments =
    { $count ->
        [one] { $count } pago mensual
       *[other] { $count } pagos mensuales
    }
price_at_the_end = Precio para comprarlo al final
shipped_to = Se envía a
picked_up_at = Se recoge en

## Lo que hace el cliente

first_name = Nombre
last_name = Apellidos
company = Empresa
address1 = Calle y número
address2 = Piso, puerta
city = Ciudad
zip = Código postal
state = Estado o provincia
country_label = País
choose_a_country = Elija un país
countries_served = Donde entregamos
other_countries = Otros países
this_entry = Este dato
phone = Teléfono
signer_name = Su nombre, tal como figura en el contrato
optional = (opcional)
write_to = Le escribimos a { $email }.
on_file = { $name } ya tiene su nombre y su dirección. Si algo ha cambiado, comuníquelo a { $name } antes de continuar.
go_on = Continuar
save_and_go_on = Guardar y continuar
verified_elsewhere = Se hace en la página de nuestro verificador. Tenga a mano su pasaporte, permiso de conducir o documento de identidad.
start_verification = Iniciar la verificación
continue_verification = Continuar la verificación
hand_in_documents = Entregar mis documentos
address_is_set = { $name } ha fijado la dirección; no se puede cambiar aquí.
ship_to_this_address = Enviarlo a esta dirección
ship_it_there = Enviarlo allí
pick_it_up_instead = Prefiero recogerlo
no_pickup_location = Por el momento no hay ningún punto de recogida abierto.
pickup_location = Punto de recogida
pick_it_up_there = Recogerlo allí
have_it_shipped = Prefiero que me lo envíen
choose_term_first = Elija durante cuánto tiempo quiere alquilar y después acepte estas condiciones.
accept_these_terms = Aceptar estas condiciones
paid_elsewhere = Introduzca su tarjeta en la página del procesador de pagos y volverá aquí. Se guarda para los pagos mensuales; podrá cambiarla más adelante.
go_to_payment = Ir al pago
go_on_with_payment = Continuar con el pago
do_not_pay_now = No pagar ahora
sandbox_card = Se utiliza la tarjeta de prueba del entorno de pruebas.
authorize_deposit = Autorizar el depósito
authorized_with = Su depósito se autorizó con { $card }.
use_this_card = Usar esta tarjeta cada mes
use_another_card = Usar otra tarjeta
enter_a_card = Introducir una tarjeta
sign_summary = Usted alquila durante { $months } por { $monthly } al mes, { $total } en total, y deja un depósito reembolsable de { $deposit }.
open_agreement = Abrir el contrato (PDF)
read_agreement = Léalo antes de firmar.
hash_of_document = SHA-256 del documento:
sign_the_lease = Firmar el contrato
retry_deposit = Intentar cobrar el depósito de nuevo
pay_with = Pagar con
card = Tarjeta
card_declined = Una tarjeta que siempre se rechaza
card_on_file = Su tarjeta registrada es { $card }.
collected_from = Sus pagos mensuales se cobran con { $card }.
retry_payment = Intentar el pago de nuevo
back_a_step = Volver al paso anterior
cancel_checkout = Cancelar esta contratación
cancel_means = Un depósito reservado se libera y uno cobrado se reembolsa. Esto no se puede deshacer.
cancel_for_good = Sí, cancelarla
to_the_shop = Continuar a la tienda
back_to_the_shop = Volver a la tienda

## Lo que acepta el cliente

disclosures = Lo que usted acepta
disclosed_payments =
    { $count ->
        [one] { $count } pago mensual de { $amount }.
       *[other] { $count } pagos mensuales de { $amount } cada uno, el mismo día de cada mes.
    }
disclosed_first_on_delivery = El primero, de { $amount }, se cobra cuando llegue su artículo.
disclosed_first_on_shipment = El primero, de { $amount }, se cobra cuando se entregue su artículo.
disclosed_at_signing = Con el depósito se reservan ahora { $amount }, que se cobran al firmar.
disclosed_total = Total de los pagos: { $amount }. Es lo que habrá pagado al terminar el alquiler.
disclosed_deposit = El depósito de { $amount } se reembolsa cuando el artículo haya vuelto, menos lo que deba entonces.
disclosed_insurance = El seguro del artículo forma parte de cada pago mensual: { $amount }.
disclosed_no_insurance = Este contrato no exige ningún seguro ni lo incluye.
disclosed_purchase = Al terminar el plazo puede comprar el artículo por { $amount }.
disclosed_early_end = Si termina este contrato antes de tiempo, es posible que tenga que pagar un cargo considerable. Cuanto antes lo termine, mayor será probablemente el cargo.
disclosed_no_other_charges = No hay otros cargos, tampoco por pagos atrasados. Se le puede cobrar un desgaste excesivo según nuestros criterios de uso normal.

## Lo que está mal

there_is_a_problem = Hay un problema
fault_missing = Rellene este campo: { $label }.
fault_too_long = { $label }: como máximo { $most } caracteres.
fault_characters = { $label }: hay caracteres que no se pueden usar aquí.
fault_state = Estado o provincia: indique el código o el nombre de un estado o provincia del país, por ejemplo CA o California.
fault_us_zip = Código postal: indique un código ZIP de Estados Unidos, con 5 cifras, o 9 como 12345-6789.
fault_ca_zip = Código postal: indique un código postal de Canadá, por ejemplo K1A 0B1.
fault_au_zip = Código postal: indique un código postal de Australia, con 4 cifras.
fault_zip = Código postal: como máximo 16 letras, cifras, espacios y guiones.
fault_phone = Teléfono: indique un número del país o en formato internacional, por ejemplo +14155550100.
fault_choice = { $label }: no es ninguna de las opciones ofrecidas.
fault_signer = Su nombre: escriba nombre y apellidos tal como figuran en el contrato.
fault_consent = Marque la casilla sobre los documentos electrónicos.
fault_not_served = Esta dirección está fuera de la zona de servicio.
fault_other = Revise este dato: { $label }.
refused = No ha sido posible. Compruebe en esta página en qué punto está su contratación e inténtelo de nuevo.
provider_unreachable = No podemos abrir la página que necesita para este paso. No se ha cobrado nada. Inténtelo de nuevo dentro de unos minutos.
hold_not_renewed = Su banco no renovó la reserva de su depósito. Es válida hasta el { $time }: firme su contrato antes. De lo contrario se le volverá a pedir el depósito y podrá usar otra tarjeta.
first_payment_failed = Su primer pago mensual ha fallado, por lo que su alquiler no puede empezar.
last_payment_failed = Su último pago mensual ha fallado.
payment_failed = El último pago ha fallado.

## La vida del alquiler

milestones = Cómo sigue su alquiler
milestone_confirmed = Confirmado
milestone_shipped = Enviado
milestone_delivered = Entregado
milestone_began = Empieza el alquiler
milestone_ends = Termina el alquiler
milestone_return = Devolución iniciada
milestone_returned = Devuelto
milestone_to_come = pendiente
shipment = Su envío
tracking_number = Número de seguimiento { $number } ({ $carrier })
nothing_heard_yet = El transportista todavía no ha informado de nada.
tracking_unknown = El transportista todavía no tiene información
tracking_pre_transit = El transportista ha recibido el aviso del envío
tracking_in_transit = El envío está en camino
tracking_out_for_delivery = El envío está en reparto
tracking_available_for_pickup = El envío se puede recoger
tracking_delivered = El envío se ha entregado
tracking_return_to_sender = El envío se está devolviendo al remitente
tracking_failure = El envío no se pudo entregar
tracking_cancelled = El envío se ha cancelado
tracking_error = El transportista comunica un error
payments = Sus pagos
payment_date = Fecha
payment_for = Concepto
payment_amount = Importe
payment_state = Estado
for_deposit = Depósito
for_month = Pago mensual
for_extra = Corrección o cargo adicional
for_refund = Reembolso
payment_reserved = reservado
payment_pending = en curso
payment_paid = pagado
payment_missed = fallido
next_payment = Próximo pago:
further_payments =
    { $count ->
        [one] { $count } pago más
       *[other] { $count } pagos más
    }
no_payments_yet = Todavía no se ha pagado nada.
how_you_pay = Cómo paga
agreement = Su contrato
agreement_signed = Firmado el { $time }.
agreement_in_english = Está redactado en inglés.
giving_back = Devolución
give_back_now = Embale el artículo como lo recibió, con todo lo que lo acompañaba. { $name } le indica adónde enviarlo o dónde entregarlo.
give_back_later = Cuando termine el alquiler devuelve el artículo o lo compra. { $name } le indica cómo; pregunte antes si quiere terminarlo anticipadamente.
contact = Contacto
ask_whom = { $name } responde a sus preguntas.

## El enlace, otra vez

link_again_title = Reciba su enlace por correo
link_again_text = Indique el número de la contratación y la dirección de correo para la que es.
link_again_checkout = Número de la contratación, por ejemplo chk_0345Nd8jqBSVLs1aoT6tLA
link_again_email = Dirección de correo
link_again_send = Enviarme el enlace
link_again_asked_title = Mire su buzón
link_again_asked_text = Si existe tal contratación para esta dirección, su enlace ya está en camino. Puede tardar unos minutos; vuelva a pedirlo como pronto después de un cuarto de hora.

## Correos

mail_open_lease = Abrir mi alquiler
mail_read_and_sign = Leer y firmar
mail_pay = Pagar o cambiar la tarjeta
mail_checkout_link_subject = Su alquiler con { $name }
mail_checkout_link_text = { $name } le ha preparado un alquiler: { $item }. Ábralo para ver cuánto cuesta y continuar.
mail_off_waitlist_subject = Es su turno
mail_off_waitlist_text = Ya no está en la lista de espera: puede continuar con su alquiler de { $item }.
mail_agreement_ready_subject = Su contrato está listo
mail_agreement_ready_text = El contrato de { $item } está listo. Léalo y fírmelo, por favor.
mail_agreement_signed_subject = Su contrato firmado
mail_agreement_signed_text = Gracias por firmar. El contrato con { $name } sobre { $item } va adjunto. Consérvelo, por favor.
mail_refused_subject = Su solicitud a { $name }
mail_refused_text = { $name } no puede ofrecerle el alquiler de { $item }. No se ha cobrado nada.
mail_shipped_text = { $item } está en camino. Su alquiler empieza cuando llegue.
mail_payment_failed_subject = Su pago ha fallado
mail_payment_failed_text = Un pago de { $item } ha fallado. Puede intentarlo de nuevo o pagar con otra tarjeta a partir de ahora.
mail_ends_soon_subject = Su alquiler termina el { $day }
mail_ends_soon_text = Su alquiler de { $item } termina el { $day }.
mail_link_again_subject = El enlace de su alquiler
mail_link_again_text = Este es el enlace de su alquiler de { $item }, tal como se pidió. Si no fue usted quien lo pidió, no tiene que hacer nada.
mail_attention_subject = La contratación { $id } requiere atención
mail_attention_text = Alguien de ustedes tiene que mirar la contratación { $id }:
mail_endpoint_subject = Un destino de webhooks está desactivado
mail_endpoint_text = Ya no se envía nada a { $url }:
mail_endpoint_gone = Respondió 410 Gone.
mail_endpoint_failing = Todos los intentos fallaron durante cinco días.
mail_endpoint_advice = Active { $id } cuando vuelva a responder y repita lo que pasó entretanto.
mail_why_customer = Recibe este correo por su alquiler con { $name }. No es publicidad.
mail_why_organization = Recibe este correo porque { $name } lo hace enviar aquí.
