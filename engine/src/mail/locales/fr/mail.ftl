# Messages de fin d'un paiement ou d'un versement. Mêmes clés que le fichier anglais ; un test le vérifie.

sandbox-mark = [BAC À SABLE]
sandbox-word = BAC À SABLE
sandbox-note = Ceci est un test dans le bac à sable. Aucun argent n’a circulé.
preview-mark = [Aperçu du message au client]
preview-note = Voici ce que votre client reçoit en production.

merchant-payment-success = Paiement de { $amount } reçu – { $app }
merchant-payment-success-text = Un paiement de { $amount } à { $app } a abouti.
merchant-payment-failed = Paiement de { $amount } échoué – { $app }
merchant-payment-failed-text = Un paiement de { $amount } à { $app } a échoué.
merchant-payment-cancelled = Paiement de { $amount } annulé – { $app }
merchant-payment-cancelled-text = Un paiement de { $amount } à { $app } a été annulé.
merchant-payout-success = Versement de { $amount } envoyé – { $app }
merchant-payout-success-text = Un versement de { $amount } de { $app } a abouti.
attention-payment = Il demande une vérification : lisez le message à ce sujet avant de livrer.
attention-payment-stands = Il est maintenu, bien que d’autre argent annoncé pour lui ait été repris. Un message précédent qui demandait de ne rien livrer concerne cet argent. Comparez les deux avec les relevés du prestataire avant de livrer.
attention-payout-stands = Il est maintenu, bien que le prestataire soit revenu sur son annonce d’une autre tentative. Comparez les deux avec ses relevés avant tout nouvel envoi.
attention-payout = Il demande une vérification : lisez le message à ce sujet avant tout nouvel envoi.
merchant-payout-failed = Versement de { $amount } échoué – { $app }
merchant-payout-failed-text = Un versement de { $amount } de { $app } a échoué.

customer-payment-success = Votre paiement de { $amount } à { $app }
customer-payment-success-text = Merci, { $name }. Votre paiement de { $amount } à { $app } a bien été reçu.
customer-paid-twice = Nous avons reçu plus d’un paiement pour cette commande. Ne payez pas à nouveau. Demandez à { $app } de vous rendre le paiement en trop, en donnant la référence.
customer-other-failed = Les prestataires avaient annoncé { $received } en tout pour cette commande, puis l’échec d’un autre paiement. Si cet argent a quitté votre compte, contactez { $app } en donnant la référence.
customer-surplus = Nous avons reçu plus que le montant demandé. Ne payez pas à nouveau. Demandez à { $app } de vous rendre la différence, en donnant la référence.
customer-review = Ce paiement est en cours de vérification. Ne payez pas à nouveau. Pour toute question, contactez { $app } en donnant la référence.
customer-part = Une partie de votre paiement à { $app } est arrivée : { $received } sur { $asked }
customer-part-text = Une partie de votre paiement à { $app } est arrivée : { $received } sur { $asked }. Cette somme ne règle pas la commande. Ne payez pas à nouveau. { $app } le voit aussi : contactez-le en donnant la référence.
customer-received = Nous avons reçu { $received } pour votre paiement à { $app }
customer-received-text = Nous avons reçu { $received } pour votre paiement à { $app }, qui est en cours de vérification. Ne payez pas à nouveau. { $app } le voit aussi : contactez-le en donnant la référence.
customer-late = { $received } reçus après la fin de votre paiement à { $app }
customer-late-text = Nous avons reçu { $received } pour un paiement à { $app } qui avait déjà pris fin ; cette somme n’a donc pas réglé la commande. Ne payez pas à nouveau. { $app } le voit aussi et doit régler cela avec vous : contactez-le en donnant la référence.
customer-contradicting-text = { $other ->
    [none] Le prestataire a annoncé { $received } reçus pour votre paiement à { $app }, et une autre de ses annonces donne un montant différent.
   *[some] Le prestataire a annoncé { $received } reçus pour votre paiement à { $app }, et { $other } dans une autre annonce.
} Le paiement est en cours de vérification. Ne payez pas à nouveau. { $app } le voit aussi : contactez-le en donnant la référence.
customer-twice = Nous avons reçu plus d’un paiement pour votre commande chez { $app }
customer-taken-back = Le prestataire a changé son annonce de votre paiement à { $app }
customer-taken-back-text = Le prestataire avait annoncé { $received } reçus pour votre paiement à { $app }, puis a annoncé l’échec du paiement. Cela remplace tout message précédent au sujet de ce paiement. Ne payez pas à nouveau avant que { $app } ait vérifié le paiement : contactez-le en donnant la référence.
customer-partly-taken-back-text = Des prestataires avaient annoncé { $received } reçus pour votre paiement à { $app }, puis ont annoncé l’échec d’une partie. Cela remplace tout message précédent au sujet de ce paiement. Ne payez pas à nouveau avant que { $app } ait vérifié le paiement : contactez-le en donnant la référence.
customer-second-failed = Un autre paiement pour votre commande chez { $app } a échoué
customer-second-failed-text = Votre paiement de { $amount } à { $app } est maintenu. Les prestataires avaient annoncé { $received } en tout pour cette commande, puis l’échec d’un autre paiement. Si cet argent a quitté votre compte, contactez { $app } en donnant la référence.

heading-success = Abouti
heading-failed = Échoué
heading-cancelled = Annulé
heading-part = Reçu en partie
heading-received = Reçu
heading-review = En cours de vérification

label-amount = Montant
label-due = { $kind ->
    [payout] Montant à verser
   *[payment] Montant demandé
}
label-asked = Montant de la commande
label-rate = Taux de change
label-fee = Frais du prestataire, inclus
label-markup = Marge, comprise dans le taux
label-description = Description
label-customer = { $kind ->
    [payout] Bénéficiaire
   *[payment] Client
}
label-method = { $kind ->
    [payout] Moyen de versement
   *[payment] Moyen de paiement
}
label-reason = Motif
label-return = { $kind ->
    [payout] À récupérer
   *[payment] À rendre
}
reason-insufficient_funds = Il n’y a pas assez d’argent sur le compte.
reason-payer_declined = Refusé par le payeur, sa banque ou son prestataire.
reason-payer_timeout = La confirmation n’est pas arrivée à temps.
reason-payer_busy = Un autre paiement du payeur était en cours chez le prestataire.
reason-invalid_account = Aucun compte actif sous ce numéro.
reason-limit_exceeded = Au-delà d’un plafond du compte.
reason-amount_out_of_range = Ce moyen n’accepte pas ce montant.
reason-expired = Le délai s’est écoulé avant la confirmation.
reason-not_permitted = Le prestataire ne l’autorise pas.
reason-merchant_funds = Pas assez d’argent sur votre compte chez le prestataire.
reason-provider_unavailable = Le prestataire n’a pas pu être joint.
reason-misconfigured = Les réglages de la connexion sont incorrects.
reason-other = Refusé par le prestataire.
reason-stopped = Il a été arrêté avant l’envoi.
reason-said = { $reason } Message du prestataire : { $message }
label-date = Date
label-reference = Référence
label-support = Questions
receipt-link = Voir le reçu

footer-merchant = { $kind ->
    [payout] Vous recevez ce message parce que les notifications sont actives pour { $app }. L’opérateur de ce service peut les désactiver pour l’application. Un message n’est pas une preuve : interrogez l’API.
   *[payment] Vous recevez ce message parce que les notifications sont actives pour { $app }. L’opérateur de ce service peut les désactiver pour l’application. Avant de livrer, interrogez l’API : un message n’est pas une preuve de paiement.
}
footer-merchant-ended = Vous recevez ce message parce que les notifications sont actives pour { $app }. L’opérateur de ce service peut les désactiver pour l’application. Un message n’est pas une preuve : l’API donne le statut.
footer-customer = Gardez ce message comme reçu. Une question sur votre commande ? Répondez à ce message ou contactez { $app }.
footer-customer-no-reply = Gardez ce message comme reçu. Une question sur votre commande ? Contactez { $app }. Merci de ne pas répondre : cette adresse n’est pas consultée.
footer-question = Une question ? Répondez à ce message ou contactez { $app }.
footer-question-no-reply = Une question ? Contactez { $app }. Merci de ne pas répondre : cette adresse n’est pas consultée.
footer-service = Envoyé par { $service }

merchant-payment-case = Paiement de { $amount } à vérifier – { $app }
merchant-payment-case-text = Un paiement de { $amount } à { $app } demande une vérification, pour la raison ci-dessous.
merchant-payout-case = Versement de { $amount } à vérifier – { $app }
merchant-payout-case-text = Un versement de { $amount } de { $app } demande une vérification, pour la raison ci-dessous.
heading-case = À vérifier

money-nothing-payment = Aucun argent n’a été reçu.
money-nothing-payout = Le bénéficiaire n’a pas été payé.
money-received-payment = Reçu : { $received }, pour { $asked } demandés.
money-received-payout = Le prestataire a annoncé l’envoi de { $received }, pour { $asked } demandés.
money-taken-back-payment = Le prestataire avait annoncé { $received } reçus, puis a annoncé l’échec du paiement ; { $asked } étaient demandés.
money-taken-back-payout = Le prestataire avait annoncé l’envoi de { $received }, puis l’échec du versement ; { $asked } étaient demandés.
money-partly-taken-back-payment = Les prestataires avaient annoncé { $received } reçus, puis ont annoncé l’échec d’une partie ; { $asked } étaient demandés.
money-partly-taken-back-payout = Les prestataires avaient annoncé l’envoi de { $received }, puis l’échec d’une partie ; { $asked } étaient demandés.
money-reported-payment = { $other ->
    [none] Le prestataire a annoncé comme reçu : { $received }, pour { $asked } demandés.
   *[some] Le prestataire a annoncé comme reçu : { $received }, et { $other } dans une autre annonce, pour { $asked } demandés.
}
money-reported-payout = { $other ->
    [none] Le prestataire a annoncé comme envoyé : { $received }, pour { $asked } demandés.
   *[some] Le prestataire a annoncé comme envoyé : { $received }, et { $other } dans une autre annonce, pour { $asked } demandés.
}
money-disputed-payment = Ses annonces donnent des montants différents : comparez-les avec ses relevés avant de livrer ou de rendre quoi que ce soit, quoi qu’ait demandé un message précédent.
money-disputed-payout = Ses annonces donnent des montants différents : comparez-les avec ses relevés avant d’envoyer à nouveau de l’argent ou d’en demander la restitution.
money-return-payment = À rendre au client : { $received } en tout, moins ce que vous avez déjà rendu.
money-return-payout = Avant d’envoyer un autre versement, demandez la restitution de { $received } en tout.
money-and-unreadable = et un montant illisible
amount-unreadable = un montant illisible
money-unreadable = Le prestataire a annoncé de l’argent, d’un montant illisible.
money-unreadable-back = Le prestataire avait annoncé de l’argent d’un montant illisible, puis en a annoncé l’échec.
money-unknown = Il n’est pas encore certain que de l’argent ait circulé.

label-received = { $kind ->
    [payout] Montant envoyé, selon le prestataire
   *[payment] Montant reçu
}
label-received-all = { $kind ->
    [payout] Montant envoyé en tout, selon le prestataire
   *[payment] Montant reçu en tout
}
label-reported = Annoncé par le prestataire
label-reported-all = Annoncé en tout
label-second-report = Deuxième annonce du prestataire
label-case = À vérifier
case-money_after_the_end = { $kind ->
    [payout] Le prestataire a annoncé un envoi après la fin du versement, ou pendant une autre tentative.
   *[payment] De l’argent a été reçu après la fin du paiement, ou pendant une autre tentative.
}
case-found_after_not_sent = Le prestataire connaît une tentative considérée ici comme terminée sans paiement, et de l’argent peut encore circuler. Aucune autre tentative ne commence.
case-late_success = { $kind ->
    [payout] Le prestataire a annoncé comme payée une tentative considérée comme échouée. Cela règle le versement : vérifiez-le auprès du prestataire.
   *[payment] Le prestataire a annoncé de l’argent pour une tentative considérée comme échouée. Cela règle le paiement : vérifiez-le auprès du prestataire avant de livrer.
}
case-paid_twice = { $kind ->
    [payout] De l’argent a été envoyé pour deux tentatives : demandez la restitution de celui qui n’a pas réglé le versement.
   *[payment] De l’argent a été reçu pour deux tentatives : remboursez celui qui n’a pas réglé le paiement.
}
case-surplus = { $kind ->
    [payout] Le montant envoyé dépasse le montant demandé : demandez la restitution de la différence.
   *[payment] Le montant reçu dépasse le montant demandé : rendez la différence.
}
case-contradicting_success = { $charges ->
    [one] { $kind ->
        [payout] Le prestataire a annoncé des montants différents pour un seul versement. Comparez avec les relevés du prestataire avant d’envoyer à nouveau de l’argent ou d’en demander la restitution.
       *[payment] Le prestataire a annoncé des montants différents pour un seul paiement. Ne rendez rien avant d’avoir comparé avec les relevés du prestataire.
    }
   *[several] { $kind ->
        [payout] Le prestataire a annoncé deux succès différents pour une tentative : il peut s’agir de la même somme. Comparez avec les relevés du prestataire avant d’envoyer à nouveau de l’argent ou d’en demander la restitution.
       *[payment] Le prestataire a annoncé deux succès différents pour une tentative : il peut s’agir de la même somme. Ne rendez rien avant d’avoir comparé avec les relevés du prestataire.
    }
}
case-ambiguous_provider_id = { $kind ->
    [payout] Le prestataire a donné un même identifiant à deux tentatives. Comparez les deux avec ses relevés avant d’envoyer de l’argent à nouveau.
   *[payment] Le prestataire a donné un même identifiant à deux tentatives, et un seul débit peut valoir pour les deux. Comparez-les avec ses relevés avant de livrer.
}
case-success_contradicted = { $success ->
    [stands] Le prestataire a annoncé un second mouvement, puis son échec. Celui qui a abouti est maintenu.
    [part] { $kind ->
        [payout] Le prestataire a annoncé l’envoi de l’argent, puis l’échec d’une partie. N’envoyez rien à nouveau avant que ce soit éclairci.
       *[payment] Le prestataire a annoncé de l’argent reçu, puis l’échec d’une partie. Ne livrez et ne rendez rien pour ce paiement avant que ce soit éclairci, quoi qu’ait demandé un message précédent.
    }
   *[open] { $kind ->
        [payout] Le prestataire a annoncé l’envoi de l’argent, puis l’échec du versement. N’envoyez pas cet argent à nouveau avant que ce soit éclairci.
       *[payment] Le prestataire a annoncé un paiement reçu, puis son échec. Ne livrez et ne rendez rien pour ce paiement avant que ce soit éclairci, quoi qu’ait demandé un message précédent.
    }
}
case-amount_differs = { $difference ->
    [less] { $kind ->
        [payout] Pour une tentative, le montant envoyé est inférieur au montant demandé.
       *[payment] Pour une tentative, le montant reçu est inférieur au montant demandé.
    }
    [more] { $kind ->
        [payout] Pour une tentative, le montant envoyé est supérieur au montant demandé.
       *[payment] Pour une tentative, le montant reçu est supérieur au montant demandé.
    }
    [same] Le prestataire a annoncé le montant complet, sans le confirmer comme définitif.
    [currency] { $kind ->
        [payout] De l’argent a été envoyé dans une autre devise que celle demandée.
       *[payment] De l’argent a été reçu dans une autre devise que celle demandée.
    }
    [contradicting] Le prestataire a annoncé des montants différents pour une tentative.
   *[unreadable] Le prestataire a annoncé de l’argent sans indiquer de montant lisible.
}
case-no_final_answer = Le prestataire n’a pas donné de réponse définitive depuis trois jours.
case-unknown_after_restore = Le service a été restauré depuis une sauvegarde. Cette transaction a pu être transmise au prestataire après la sauvegarde, et celui-ci ne peut pas nous le dire.

# Mails aux utilisateurs de la console. $account est le compte du marchand, ou le service lui-même.
invitation-subject = Votre invitation à { $account }
invitation-text = Bonjour { $name }, vous êtes invité à rejoindre { $account } sur { $service } avec le rôle « { $role } ». Ouvrez le lien pour choisir votre mot de passe et vous connecter.
invitation-service-text = Bonjour { $name }, vous êtes invité à rejoindre { $service } avec le rôle « { $role } ». Ouvrez le lien pour choisir votre mot de passe et vous connecter.
invitation-button = Accepter l’invitation
invitation-note = Si vous n’attendiez pas ce message, ignorez-le : rien ne se passe sans le lien.
reset-subject = Un nouveau mot de passe pour { $service }
reset-text = Bonjour { $name }, un nouveau mot de passe a été demandé pour votre compte. Ouvrez le lien pour en choisir un.
reset-button = Choisir un nouveau mot de passe
reset-note = Si vous ne l’avez pas demandé, ignorez ce message : votre mot de passe ne change pas. Personne chez { $service } ne vous demande ce lien.
proposal-subject = Une proposition dans { $account } attend votre décision
proposal-text = Bonjour { $name }, { $by } a fait une proposition dans { $account }, qui prend effet quand une seconde personne l’approuve. Ouvrez sa page pour l’approuver ou la rejeter.
proposal-button = Ouvrir la proposition
proposal-note = Rien ne se passe avant une décision.
proposal-until = La proposition est ouverte jusqu’au { $until }.
link-until = Le lien fonctionne une fois, jusqu’au { $until }.
role-owner = propriétaire
role-admin = administrateur
role-developer = développeur
role-finance = finance
role-support = assistance
role-viewer = lecteur
role-operator = exploitant
role-auditor = auditeur
